#include "env/parsers/tagged_calls.h"

#include <fmt/format.h>

#include "env/parsers/text.h"

namespace forkpoint::env {

OutsideCalls::Found OutsideCalls::next(std::size_t at) const {
  using What = Found::What;
  for (; (at = text_.find('<', at)) != std::string_view::npos; ++at) {
    const std::string_view rest = text_.substr(at);
    if (rest.starts_with(format_.open)) return {.what = What::call, .begin = at, .end = at};
    if (rest.starts_with(kThoughtClose)) {
      return {.what = What::thought_end, .begin = at, .end = at + kThoughtClose.size()};
    }
    if (rest.starts_with(kThoughtOpen)) {
      at = text_.find(kThoughtClose, at);
      if (at == std::string_view::npos) return {.what = What::unfinished_thought};
      continue;  // one further than '<', which begins nothing else
    }
    for (const std::string_view tag : format_.inner_tags) {
      if (rest.starts_with(tag)) {
        return {.what = What::inner_tag, .begin = at, .end = at + tag.size(), .tag = tag};
      }
    }
  }
  return {.what = What::end, .begin = text_.size(), .end = text_.size()};
}

FormatError call_error(std::string code, std::string_view what, const TagFormat& format) {
  return {.code = std::move(code), .message = fmt::format("{} Nothing was run. {}", what, format.how_to)};
}

ParsedMessage refused_stray_tag(std::string_view tag, const TagFormat& format) {
  return refused(call_error(
      "unbalanced_tags",
      fmt::format("A {} stands outside of any call, so it is not clear where your calls begin and end.", tag),
      format));
}

ParsedMessage refused_without_call(const TagFormat& format) {
  return refused(call_error("no_call", "Your message holds no call.", format));
}

}  // namespace forkpoint::env
