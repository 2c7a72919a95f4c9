// Calls in tags, between prose and thoughts: what hermes, qwen3_coder and xml_function share.
//
//   <think>...</think>          nothing in here is a call
//   prose OPEN...call... prose OPEN...call... prose
//
// A thought that the prompt has opened shows as a </think> alone: what stands before it is no call either.
// Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "env/action.h"
#include "env/parsers/command_call.h"

namespace forkpoint::env {

struct TaggedCall {
  ToolCall call;
  std::size_t end = 0;  // behind it
};

struct TagFormat {
  std::string_view open;  // what a call begins with
  // Tags that stand only inside calls: outside they show that a call has been read wrongly.
  std::vector<std::string_view> inner_tags;
  std::string_view how_to;  // how a call is written, for errors
};

// Reads the call that begins at `at` with the format's `open`.
template <class Read>
concept TaggedCallReader = requires(Read read, std::string_view text, std::size_t at) {
  { read(text, at) } -> std::same_as<std::variant<TaggedCall, FormatError>>;
};

// The text outside of calls, cut into what matters.
class OutsideCalls {
 public:
  struct Found {
    enum class What { call, thought_end, inner_tag, unfinished_thought, end } what = What::end;
    std::size_t begin = 0;
    std::size_t end = 0;  // behind the tag; for a call the same as begin
    std::string_view tag = {};
  };

  OutsideCalls(std::string_view text, const TagFormat& format) : text_(text), format_(format) {}

  // What comes next from `at` on; whole thoughts are passed over.
  Found next(std::size_t at) const;

 private:
  std::string_view text_;
  const TagFormat& format_;
};

// What is wrong with a call, that nothing was run, and how one is written.
FormatError call_error(std::string code, std::string_view what, const TagFormat& format);

ParsedMessage refused_stray_tag(std::string_view tag, const TagFormat& format);
ParsedMessage refused_without_call(const TagFormat& format);

template <TaggedCallReader Read>
ParsedMessage read_tagged_calls(std::string_view text, const TagFormat& format, Read read) {
  using What = OutsideCalls::Found::What;
  const OutsideCalls outside(text, format);
  ParsedMessage parsed;
  std::size_t at = 0;
  while (true) {
    const OutsideCalls::Found found = outside.next(at);
    if (found.what == What::unfinished_thought) return refused_unfinished_thought();
    if (found.what == What::inner_tag) return refused_stray_tag(found.tag, format);
    parsed.thought += text.substr(at, found.end - at);
    at = found.end;
    if (found.what == What::end) break;
    if (found.what == What::thought_end) {
      parsed.calls.clear();
      continue;
    }
    std::variant<TaggedCall, FormatError> call = read(text, at);
    if (auto* error = std::get_if<FormatError>(&call)) return refused(std::move(*error));
    at = std::get<TaggedCall>(call).end;
    parsed.calls.push_back(std::move(std::get<TaggedCall>(call).call));
  }
  return parsed.calls.empty() ? refused_without_call(format) : parsed;
}

}  // namespace forkpoint::env
