#include "env/parsers/tagged_calls.h"

#include <fmt/format.h>

namespace forkpoint::env {
namespace {

constexpr std::string_view kThought = "<think>";
constexpr std::string_view kThoughtEnd = "</think>";

}  // namespace

OutsideCalls::Found OutsideCalls::next(std::size_t at) const {
  using What = Found::What;
  for (; (at = text_.find('<', at)) != std::string_view::npos; ++at) {
    const std::string_view rest = text_.substr(at);
    if (rest.starts_with(format_.open)) return {.what = What::call, .begin = at, .end = at};
    if (rest.starts_with(kThoughtEnd)) {
      return {.what = What::thought_end, .begin = at, .end = at + kThoughtEnd.size()};
    }
    if (rest.starts_with(kThought)) {
      at = text_.find(kThoughtEnd, at);
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

ParsedMessage refused_stray_tag(std::string_view tag, const TagFormat& format) {
  return refused(
      "unbalanced_tags",
      fmt::format("A {} stands outside of any call, so it is not clear where your calls begin and end. "
                  "Nothing was run. {}",
                  tag, format.how_to));
}

ParsedMessage refused_without_call(const TagFormat& format) {
  return refused("no_call", fmt::format("Your message holds no call. Nothing was run. {}", format.how_to));
}

}  // namespace forkpoint::env
