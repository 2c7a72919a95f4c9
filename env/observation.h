// Observation: what the agent gets to see of an action's result.
//
//   FORKPOINT_ASSIGN_OR_RETURN(const ObservationFormatter formatter, ObservationFormatter::create(config));
//   const Observation observation = formatter.format(result);
//
// Bytes become text: UTF-8 with U+FFFD for what is none; then, if wanted, what a terminal would have shown;
// then the beginning and the end of it, if it is too long; then the text of the templates. The result's own
// bytes are not touched: whoever stores a trajectory stores those.
#pragma once

#include <cstdint>
#include <string>

#include "core/config.h"
#include "core/result.h"
#include "env/text_template.h"
#include "sandbox/exec_result.h"

namespace forkpoint::env {

// Placeholders of all templates: {exit_code} (as a shell gives it: 128 + signal, 124 for a time-out),
// {signal} ("" without one), {cwd}, {wall_s}, {limit} (its name, "" without one), {processes} (how many still
// run). Of `result` also {output}, {error_output} ("" where both streams came as one), {notes}; of `elision`
// also {elided_chars}.
struct ObservationTemplates {
  std::string result = "{output}{error_output}{notes}[exit code {exit_code}, working directory {cwd}]\n";
  std::string elision = "\n[... {elided_chars} characters left out ...]\n";
  // Notes: {notes} is all that apply, in this order.
  std::string time_out = "[stopped after {wall_s} s: the time for one command is over]\n";
  std::string limit = "[ended because it reached the limit on {limit}]\n";
  std::string out_of_memory = "[ended because it ran out of memory]\n";
  std::string signal = "[ended by signal {signal}]\n";
  std::string background = "[{processes} processes still run in the background]\n";
  std::string state_not_saved = "[the shell's variables and working directory are as before this command]\n";
};

struct ObservationConfig {
  bool fold_terminal_text = true;
  // In code points, of each stream. Longer output keeps head_chars and, of its end, the rest of the maximum.
  std::int64_t output_chars_max = 10'000;
  std::int64_t head_chars = 5'000;
  ObservationTemplates templates;
};

void describe(core::ConfigFields& fields, ObservationTemplates& templates);
void describe(core::ConfigFields& fields, ObservationConfig& config);

struct Observation {
  std::string text;  // UTF-8
  // Of both streams. What the sandbox did not keep counts a character a byte, since nobody knows what it was.
  std::uint64_t elided_chars = 0;
};

// Immutable: any number of threads may use one.
class ObservationFormatter {
 public:
  // Errors (Boundary::config, Fault::input): those of TextTemplate::parse, with the template's key;
  // `out_of_range` for head_chars above output_chars_max.
  static Result<ObservationFormatter> create(const ObservationConfig& config);

  Observation format(const sandbox::ExecResult& result) const;

 private:
  struct Templates {
    TextTemplate result, elision, time_out, limit, out_of_memory, signal, background, state_not_saved;
  };
  struct Shown {
    std::string text;
    std::uint64_t elided_chars = 0;
  };

  ObservationFormatter() = default;
  Shown show(const sandbox::CapturedOutput& output, TextTemplate::Values& values) const;
  std::string decode(std::string_view bytes) const;
  std::string notes(const sandbox::ExecResult& result, const TextTemplate::Values& values) const;

  bool fold_terminal_text_ = true;
  std::size_t head_chars_ = 0;
  std::size_t tail_chars_ = 0;
  Templates templates_;
};

}  // namespace forkpoint::env
