#include "cli/verb.h"

namespace forkpoint::cli {

void Output::print(const Json& object, std::string_view text) {
  print_exactly(object, text);
  if (!json_ && !text.empty() && text.back() != '\n') stream_ << '\n';
}

void Output::print_exactly(const Json& object, std::string_view bytes) {
  if (json_) {
    stream_ << core::to_text(object) << '\n';
  } else {
    stream_ << bytes;
  }
}

void Output::print_line(const Json& object) { stream_ << core::to_text(object) << std::endl; }

}  // namespace forkpoint::cli
