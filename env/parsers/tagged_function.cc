#include "env/parsers/tagged_function.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "env/parsers/text.h"

namespace forkpoint::env {
namespace {

constexpr std::string_view kFunctionClose = "</function>";
constexpr std::string_view kParameterOpen = "<parameter=";
constexpr std::string_view kParameterClose = "</parameter>";

class FunctionReader {
 public:
  FunctionReader(std::string_view text, std::size_t at, FunctionTail tail)
      : text_(text), at_(at), tail_(tail) {}

  std::variant<TaggedCall, FormatError> read() {
    TaggedCall read;
    if (!read_name(kFunctionOpen, read.call.tool)) return std::move(*error_);
    while (true) {
      at_ = skip_blank(text_, at_);
      if (closes()) break;
      if (!read_parameter(read.call.arguments)) return std::move(*error_);
    }
    read.end = at_;
    return read;
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }

  // Passes over the end of the function, if it is here.
  bool closes() {
    const std::string_view left = rest();
    if (left.starts_with(kFunctionClose)) {
      at_ += kFunctionClose.size();
      return true;
    }
    const std::string_view tail = trim(left);
    const bool begun = tail.size() >= 2 && kFunctionClose.starts_with(tail);
    const bool gone = tail.size() < 2 && kFunctionClose.starts_with(tail);
    if ((tail_ != FunctionTail::needed && begun) || (tail_ == FunctionTail::may_be_gone && gone)) {
      at_ = text_.size();
      return true;
    }
    return false;
  }

  // "<function=NAME>" or "<parameter=KEY>".
  bool read_name(std::string_view open, std::string& name) {
    at_ += open.size();
    const std::size_t end = text_.find('>', at_);
    if (end == std::string_view::npos) return fail_unclosed(fmt::format("{}...>", open));
    name = text_.substr(at_, end - at_);
    at_ = end + 1;
    return is_name(name) || fail("bad_call", fmt::format("What stands behind {} is not a name", open));
  }

  bool read_parameter(Json& arguments) {
    if (!rest().starts_with(kParameterOpen)) return fail_between();
    std::string key;
    if (!read_name(kParameterOpen, key)) return false;
    const std::size_t end = text_.find(kParameterClose, at_);
    if (end == std::string_view::npos) return fail_unclosed(fmt::format("{}{}>", kParameterOpen, key));
    std::string_view value = text_.substr(at_, end - at_);
    at_ = end + kParameterClose.size();
    for (const std::string_view tag : {kParameterOpen, kFunctionOpen, kFunctionClose}) {
      if (value.find(tag) != std::string_view::npos) return fail_inside(key, tag);
    }
    if (arguments.contains(key))
      return fail("duplicate_argument", fmt::format("The parameter {} is given twice", key));
    if (value.starts_with('\n')) value.remove_prefix(1);
    if (value.ends_with('\n')) value.remove_suffix(1);
    arguments[key] = std::string(value);
    return true;
  }

  // Neither a parameter nor the end.
  bool fail_between() {
    const std::string_view left = rest();
    // Only the beginning of a tag: the message ends here.
    if (kParameterOpen.starts_with(left) || kFunctionClose.starts_with(left))
      return fail_unclosed(kFunctionOpen);
    if (left.find(kParameterClose) == std::string_view::npos &&
        left.find(kFunctionClose) == std::string_view::npos) {
      return fail_unclosed(kFunctionOpen);
    }
    return fail(
        "unbalanced_tags",
        "Between the parameters of your call stands text that belongs to none of them. Maybe a value holds "
        "the tag </parameter>: it can't be passed in this format; have the command put it together from "
        "two pieces");
  }

  bool fail_inside(const std::string& key, std::string_view tag) {
    return fail(
        "unbalanced_tags",
        fmt::format("The parameter {} holds a {}. Either it is not closed, or its value can't be passed in "
                    "this format",
                    key, tag));
  }

  bool fail_unclosed(std::string_view tag) {
    return fail(
        "unclosed_call",
        fmt::format("Your message ends before the {} of your call is closed; it may have been cut off", tag));
  }

  bool fail(std::string code, const std::string& message) {
    error_ = {.code = std::move(code), .message = message + ". Nothing was run."};
    return false;
  }

  std::string_view text_;
  std::size_t at_;
  FunctionTail tail_;
  std::optional<FormatError> error_;
};

}  // namespace

const std::vector<std::string_view>& inner_function_tags() {
  static const std::vector<std::string_view> tags = {kFunctionClose, kParameterOpen, kParameterClose};
  return tags;
}

std::variant<TaggedCall, FormatError> read_function(std::string_view text, std::size_t at,
                                                    FunctionTail tail) {
  return FunctionReader(text, at, tail).read();
}

std::string write_function(const ToolCall& call) {
  std::string text = fmt::format("{}{}>\n", kFunctionOpen, call.tool);
  for (const auto& [key, value] : call.arguments.items()) {
    text += fmt::format("{}{}>\n{}\n{}\n", kParameterOpen, key,
                        value.is_string() ? value.get<std::string>() : core::to_text(value), kParameterClose);
  }
  return text + std::string(kFunctionClose);
}

}  // namespace forkpoint::env
