// must(): the value of a result that a test can't go on without; its error as an exception.
#pragma once

#include <stdexcept>
#include <type_traits>
#include <utility>

#include "core/result.h"

namespace forkpoint::tests {

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().to_line());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace forkpoint::tests
