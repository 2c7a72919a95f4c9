#include "env/action_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/nearest.h"
#include "env/parsers/bash_block.h"
#include "env/parsers/hermes.h"
#include "env/parsers/openai_tools.h"
#include "env/parsers/qwen3_coder.h"
#include "env/parsers/react.h"
#include "env/parsers/thought_action.h"
#include "env/parsers/xml_function.h"

namespace forkpoint::env {
namespace {

struct Format {
  std::string_view name;
  std::unique_ptr<ActionParser> (*make)();
};

constexpr Format kFormats[] = {
    {"bash_block", make_bash_block},     {"hermes", make_hermes}, {"openai_tools", make_openai_tools},
    {"qwen3_coder", make_qwen3_coder},   {"react", make_react},   {"thought_action", make_thought_action},
    {"xml_function", make_xml_function},
};

}  // namespace

const std::vector<std::string>& action_formats() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    std::transform(std::begin(kFormats), std::end(kFormats), std::back_inserter(all),
                   [](const Format& format) { return std::string(format.name); });
    return all;
  }();
  return names;
}

Result<std::unique_ptr<ActionParser>> make_action_parser(std::string_view format) {
  for (const Format& known : kFormats) {
    if (known.name == format) return known.make();
  }
  const std::optional<std::string> meant = core::nearest(format, action_formats());
  return Error{.boundary = Boundary::config,
               .fault = Fault::input,
               .code = "unknown_format",
               .message = fmt::format("unknown action format '{}'", format),
               .advice = meant ? fmt::format("did you mean '{}'?", *meant)
                               : fmt::format("there are {}", fmt::join(action_formats(), ", "))};
}

}  // namespace forkpoint::env
