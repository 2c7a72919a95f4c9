#include "core/error.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "core/check.h"

namespace forkpoint::core {

std::string_view to_string(Boundary boundary) {
  switch (boundary) {
    case Boundary::config: return "config";
    case Boundary::task: return "task";
    case Boundary::sandbox: return "sandbox";
    case Boundary::policy: return "policy";
    case Boundary::store: return "store";
    case Boundary::learner: return "learner";
    case Boundary::system: return "system";
  }
  FORKPOINT_UNREACHABLE();
}

std::string_view to_string(Fault fault) {
  switch (fault) {
    case Fault::input: return "input";
    case Fault::host: return "host";
    case Fault::transient: return "transient";
    case Fault::work: return "work";
    case Fault::interrupted: return "interrupted";
  }
  FORKPOINT_UNREACHABLE();
}

int exit_code(Fault fault) {
  switch (fault) {
    case Fault::input: return 2;
    case Fault::host: return 3;
    case Fault::transient:
    case Fault::work: return 1;
    case Fault::interrupted: return 130;
  }
  FORKPOINT_UNREACHABLE();
}

Error Error::within(std::string what) && {
  context.push_back(std::move(what));
  return std::move(*this);
}

std::string Error::to_line() const {
  std::string line;
  for (auto outer = context.rbegin(); outer != context.rend(); ++outer) line += *outer + ": ";
  line += message;
  if (!advice.empty()) line += fmt::format(" ({})", advice);
  return line;
}

Error system_error(int errno_value, std::string code, std::string message) {
  return Error{.boundary = Boundary::system,
               .fault = Fault::work,
               .code = std::move(code),
               .message = fmt::format("{}: {}", message, std::generic_category().message(errno_value))};
}

}  // namespace forkpoint::core
