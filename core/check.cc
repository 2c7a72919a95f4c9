#include "core/check.h"

#include <cstdio>
#include <cstdlib>

namespace forkpoint::core {

void check_failed(const char* file, int line, const char* condition, std::string_view message) {
  std::fprintf(stderr, "forkpoint: %s:%d: check failed: %s: %.*s\n", file, line, condition,
               static_cast<int>(message.size()), message.data());
  std::fflush(stderr);
  std::abort();
}

}  // namespace forkpoint::core
