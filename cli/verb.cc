#include "cli/verb.h"

namespace forkpoint::cli {

void Output::print(const Json& object, std::string_view text) {
  if (json_) {
    stream_ << core::to_text(object) << '\n';
  } else {
    stream_ << text;
    if (!text.empty() && text.back() != '\n') stream_ << '\n';
  }
}

}  // namespace forkpoint::cli
