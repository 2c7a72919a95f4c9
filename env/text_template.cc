#include "env/text_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/check.h"
#include "core/nearest.h"

namespace forkpoint::env {
namespace {

Error template_error(std::string code, std::string message, std::string advice) {
  return Error{.boundary = Boundary::config,
               .fault = Fault::input,
               .code = std::move(code),
               .message = std::move(message),
               .advice = std::move(advice)};
}

Error bad_brace(std::string_view source, char brace) {
  return template_error("bad_template", fmt::format("{}: a '{}' without its counterpart", source, brace),
                        fmt::format("for a brace itself write '{}{}'", brace, brace));
}

Error unknown_placeholder(std::string_view source, const std::string& name,
                          const std::vector<std::string>& names) {
  const std::optional<std::string> meant = core::nearest(name, names);
  return template_error("unknown_placeholder", fmt::format("{}: unknown placeholder '{{{}}}'", source, name),
                        meant ? fmt::format("did you mean '{{{}}}'?", *meant)
                              : fmt::format("there are {}", fmt::join(names, ", ")));
}

}  // namespace

Result<TextTemplate> TextTemplate::parse(std::string_view text, const std::vector<std::string>& names,
                                         std::string_view source) {
  TextTemplate parsed;
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const bool is_brace = c == '{' || c == '}';
    if (!is_brace || (at + 1 < text.size() && text[at + 1] == c)) {
      plain += c;
      at += is_brace ? 2 : 1;
      continue;
    }
    const std::size_t end = text.find('}', at);
    if (c == '}' || end == std::string_view::npos) return bad_brace(source, c);
    const std::string name(text.substr(at + 1, end - at - 1));
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return unknown_placeholder(source, name, names);
    }
    parsed.parts_.push_back({.text = std::move(plain)});
    parsed.parts_.push_back({.text = name, .is_placeholder = true});
    plain.clear();
    at = end + 1;
  }
  parsed.parts_.push_back({.text = std::move(plain)});
  return parsed;
}

std::string TextTemplate::fill(const Values& values) const {
  std::string text;
  for (const Part& part : parts_) {
    if (!part.is_placeholder) {
      text += part.text;
      continue;
    }
    const auto value = values.find(part.text);
    FORKPOINT_CHECK(value != values.end(), "a placeholder without a value");
    text += value->second;
  }
  return text;
}

bool TextTemplate::uses(std::string_view name) const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [&](const Part& part) { return part.is_placeholder && part.text == name; });
}

}  // namespace forkpoint::env
