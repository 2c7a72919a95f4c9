#include "env/observation.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/utf8.h"
#include "env/terminal_text.h"

namespace forkpoint::env {
namespace {

using sandbox::CapturedOutput;
using sandbox::ExecResult;

bool continues_code_point(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::size_t count_chars(std::string_view text) {
  return text.size() -
         static_cast<std::size_t>(std::count_if(text.begin(), text.end(), continues_code_point));
}

// The first `chars` code points of UTF-8 text.
std::string_view first_chars(std::string_view text, std::size_t chars) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (!continues_code_point(text[at]) && chars-- == 0) break;
  }
  return text.substr(0, at);
}

std::string_view last_chars(std::string_view text, std::size_t chars) {
  return text.substr(first_chars(text, count_chars(text) - std::min(chars, count_chars(text))).size());
}

// How many bytes at the end begin a code point that the cut has taken the rest of.
std::size_t cut_at_end(std::string_view bytes) {
  for (std::size_t count = 1; count <= std::min<std::size_t>(3, bytes.size()); ++count) {
    const std::string_view end = bytes.substr(bytes.size() - count);
    if (continues_code_point(end.front())) continue;
    const auto lead = static_cast<unsigned char>(end.front());
    const bool is_lead = lead >= 0xc2 && lead <= 0xf4;
    const std::size_t whole = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    // U+FFFD once: these bytes are the beginning of one code point, and not several wrong ones.
    const bool is_beginning = is_lead && core::to_utf8(end) == "\xef\xbf\xbd";
    return whole > count && is_beginning ? count : 0;
  }
  return 0;
}

std::size_t cut_at_begin(std::string_view bytes) {
  std::size_t count = 0;
  while (count < std::min<std::size_t>(3, bytes.size()) && continues_code_point(bytes[count])) ++count;
  return count;
}

const std::vector<std::string>& common_names() {
  static const std::vector<std::string> names = {"exit_code", "signal", "cwd",
                                                 "wall_s",    "limit",  "processes"};
  return names;
}

std::vector<std::string> with_common_names(std::vector<std::string> names) {
  names.insert(names.end(), common_names().begin(), common_names().end());
  return names;
}

TextTemplate::Values common_values(const ExecResult& result) {
  return {{"exit_code", std::to_string(result.shell_status())},
          {"signal", result.signal ? std::to_string(*result.signal) : ""},
          {"cwd", core::to_utf8(result.cwd)},
          {"wall_s", fmt::format("{:.1f}", result.wall_ms / 1e3)},
          {"limit", result.limit ? std::string(to_string(*result.limit)) : ""},
          {"processes", std::to_string(result.background.size())}};
}

}  // namespace

void describe(core::ConfigFields& fields, ObservationTemplates& templates) {
  fields.text("result", templates.result, "the whole; {output}, {error_output}, {notes} and those of all");
  fields.text("elision", templates.elision, "in place of what is left out; {elided_chars}");
  fields.text("time_out", templates.time_out, "note: the time limit ended it");
  fields.text("limit", templates.limit, "note: another limit ended it");
  fields.text("out_of_memory", templates.out_of_memory, "note: it ran out of memory");
  fields.text("signal", templates.signal, "note: a signal ended it");
  fields.text("background", templates.background, "note: processes still run");
  fields.text("state_not_saved", templates.state_not_saved, "note: the shell could not save its state");
}

void describe(core::ConfigFields& fields, ObservationConfig& config) {
  fields.boolean("fold_terminal_text", config.fold_terminal_text,
                 "without escape sequences and without what a progress bar has overwritten");
  fields.integer("output_chars_max", config.output_chars_max, {.min = 1, .max = 100'000'000},
                 "longer output keeps its beginning and its end");
  fields.integer("head_chars", config.head_chars, {.min = 0, .max = 100'000'000},
                 "of output_chars_max, those that the beginning gets");
  fields.section("templates", config.templates,
                 "{exit_code}, {signal}, {cwd}, {wall_s}, {limit}, {processes} are known to all of them");
}

Result<ObservationFormatter> ObservationFormatter::create(const ObservationConfig& config) {
  if (config.head_chars < 0 || config.head_chars > config.output_chars_max) {
    return Error{.boundary = Boundary::config,
                 .fault = Fault::input,
                 .code = "out_of_range",
                 .message = fmt::format("head_chars is {}, more than output_chars_max, which is {}",
                                        config.head_chars, config.output_chars_max)};
  }
  ObservationFormatter formatter;
  formatter.fold_terminal_text_ = config.fold_terminal_text;
  formatter.head_chars_ = static_cast<std::size_t>(config.head_chars);
  formatter.tail_chars_ = static_cast<std::size_t>(config.output_chars_max - config.head_chars);

  const ObservationTemplates& texts = config.templates;
  Templates& parsed = formatter.templates_;
  const auto read = [](TextTemplate& target, const std::string& text, std::string_view key,
                       std::vector<std::string> own_names) -> Result<void> {
    const std::vector<std::string> names = with_common_names(std::move(own_names));
    FORKPOINT_ASSIGN_OR_RETURN(target, TextTemplate::parse(text, names, fmt::format("templates.{}", key)));
    return {};
  };
  FORKPOINT_RETURN_IF_ERROR(read(parsed.result, texts.result, "result", {"output", "error_output", "notes"}));
  FORKPOINT_RETURN_IF_ERROR(read(parsed.elision, texts.elision, "elision", {"elided_chars"}));
  FORKPOINT_RETURN_IF_ERROR(read(parsed.time_out, texts.time_out, "time_out", {}));
  FORKPOINT_RETURN_IF_ERROR(read(parsed.limit, texts.limit, "limit", {}));
  FORKPOINT_RETURN_IF_ERROR(read(parsed.out_of_memory, texts.out_of_memory, "out_of_memory", {}));
  FORKPOINT_RETURN_IF_ERROR(read(parsed.signal, texts.signal, "signal", {}));
  FORKPOINT_RETURN_IF_ERROR(read(parsed.background, texts.background, "background", {}));
  FORKPOINT_RETURN_IF_ERROR(read(parsed.state_not_saved, texts.state_not_saved, "state_not_saved", {}));
  return formatter;
}

std::string ObservationFormatter::decode(std::string_view bytes) const {
  std::string text = core::to_utf8(bytes);
  return fold_terminal_text_ ? fold_terminal_text(text) : text;
}

ObservationFormatter::Shown ObservationFormatter::show(const CapturedOutput& output,
                                                       TextTemplate::Values& values) const {
  std::string_view head_bytes = output.head;
  std::string_view tail_bytes = output.tail;
  Shown shown;
  if (output.truncated()) {
    // The gap may have cut a character in two; what is left of it is no wrong byte of the program's.
    const std::size_t head_cut = cut_at_end(head_bytes);
    const std::size_t tail_cut = cut_at_begin(tail_bytes);
    head_bytes.remove_suffix(head_cut);
    tail_bytes.remove_prefix(tail_cut);
    shown.elided_chars = output.bytes_left_out() + head_cut + tail_cut;
  }
  const std::string head = decode(head_bytes);
  const std::string tail = output.truncated() ? decode(tail_bytes) : "";
  std::string_view head_shown = head;
  std::string_view tail_shown = tail;
  const std::size_t chars = count_chars(head) + count_chars(tail);
  if (chars > head_chars_ + tail_chars_) {
    head_shown = first_chars(head, head_chars_);
    tail_shown = last_chars(output.truncated() ? tail : head, tail_chars_);
    shown.elided_chars += chars - count_chars(head_shown) - count_chars(tail_shown);
  }
  shown.text = head_shown;
  if (shown.elided_chars > 0) {
    values["elided_chars"] = std::to_string(shown.elided_chars);
    shown.text += templates_.elision.fill(values);
  }
  shown.text += tail_shown;
  return shown;
}

std::string ObservationFormatter::notes(const ExecResult& result, const TextTemplate::Values& values) const {
  std::string text;
  const bool other_limit = result.limit && *result.limit != sandbox::LimitKind::wall;
  if (result.timed_out) text += templates_.time_out.fill(values);
  if (other_limit && !result.oom_killed) text += templates_.limit.fill(values);
  if (result.oom_killed) text += templates_.out_of_memory.fill(values);
  if (result.signal && !result.timed_out && !result.limit && !result.oom_killed) {
    text += templates_.signal.fill(values);
  }
  if (!result.background.empty()) text += templates_.background.fill(values);
  if (!result.state_saved) text += templates_.state_not_saved.fill(values);
  return text;
}

Observation ObservationFormatter::format(const ExecResult& result) const {
  TextTemplate::Values values = common_values(result);
  const Shown output = show(result.output, values);
  const Shown error_output = result.error_output ? show(*result.error_output, values) : Shown{};
  // A note begins a line of its own, whatever the output ended with.
  const std::string& last = error_output.text.empty() ? output.text : error_output.text;
  const bool line_is_open = !last.empty() && last.back() != '\n';
  values["output"] = output.text;
  values["error_output"] = error_output.text;
  values["notes"] = (line_is_open ? "\n" : "") + notes(result, values);
  return {.text = templates_.result.fill(values),
          .elided_chars = output.elided_chars + error_output.elided_chars};
}

}  // namespace forkpoint::env
