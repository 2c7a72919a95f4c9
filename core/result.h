// Result<T>: a value, or the Error that stood in its way.
//
//   Result<Config> read_config(const std::string& path) {
//     FORKPOINT_ASSIGN_OR_RETURN(const std::string text, read_file(path));
//     if (text.empty()) return Error{.boundary = Boundary::config, .code = "empty", ...};
//     return parse_config(text);
//   }
//
// Dropping a Result is a compiler warning, hence an error. Reading the value of a failed Result is
// a broken invariant: test it first. Thread-safety and ownership are those of T.
#pragma once

#include <tl/expected.hpp>
#include <utility>

#include "core/error.h"

namespace forkpoint {
namespace core {

template <class T = void>
class [[nodiscard]] Result : public tl::expected<T, Error> {
  using Base = tl::expected<T, Error>;

 public:
  using Base::Base;
  Result(Error error) : Base(tl::unexpect, std::move(error)) {}  // NOLINT(google-explicit-constructor)
  Result(Base base) : Base(std::move(base)) {}                   // NOLINT(google-explicit-constructor)

  // This result; if it failed, with `what` added to the error's context.
  Result within(std::string what) && {
    if (!this->has_value()) this->error() = std::move(this->error()).within(std::move(what));
    return std::move(*this);
  }
};

}  // namespace core

using core::Result;

}  // namespace forkpoint

#define FORKPOINT_CONCAT_INNER(a, b) a##b
#define FORKPOINT_CONCAT(a, b) FORKPOINT_CONCAT_INNER(a, b)

// Evaluates `expression`, a Result; returns its error from the enclosing function if it failed.
#define FORKPOINT_RETURN_IF_ERROR(expression)                                \
  do {                                                                       \
    if (auto forkpoint_result = (expression); !forkpoint_result.has_value()) \
      return std::move(forkpoint_result.error());                            \
  } while (false)

// The same, and otherwise puts the value into `declaration`, which may contain no comma.
#define FORKPOINT_ASSIGN_OR_RETURN(declaration, expression) \
  FORKPOINT_ASSIGN_OR_RETURN_INNER(FORKPOINT_CONCAT(forkpoint_result_, __LINE__), declaration, expression)
#define FORKPOINT_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                             \
  if (!result.has_value()) return std::move(result.error());              \
  declaration = std::move(*result)
