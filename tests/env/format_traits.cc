#include "tests/env/format_traits.h"

#include <algorithm>
#include <string_view>

#include "tests/fuzz/message_soup.h"

namespace forkpoint::tests {
namespace {

using env::ToolCall;

std::string joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
  return text;
}

// `text` as one word of bash. A line that is a fence would end the block, quoted or not.
std::string quoted_word(std::string text) {
  text = replaced(std::move(text), "```", "` ` `");
  return "'" + replaced(std::move(text), "'", "'\\''") + "'";
}

// With every kind of fence but one that would begin a block behind the end of another.
std::string here_document(std::string body) {
  body = replaced(std::move(body), "END", "E_N_D");
  body = replaced(std::move(body), "bash", "sh");
  return "cat <<'END' > file\n" + body + "\nEND";
}

rc::Gen<Json> json_value() {
  return rc::gen::oneOf(
      rc::gen::map(any_text(), [](std::string text) { return Json(std::move(text)); }),
      rc::gen::map(rc::gen::arbitrary<std::int64_t>(), [](std::int64_t n) { return Json(n); }),
      rc::gen::map(rc::gen::arbitrary<bool>(), [](bool b) { return Json(b); }),
      rc::gen::element(Json(nullptr), Json(0.1), Json::array({1, "two", nullptr}),
                       Json{{"deep", {{"er", {-1, 2}}}}}, Json::object()));
}

rc::Gen<std::string> text_without_tags() {
  return rc::gen::map(any_text(), [](std::string text) {
    for (const char* mark : {"<parameter=", "</parameter>", "<function=", "</function>"}) {
      text = replaced(std::move(text), mark, "<tag>");
    }
    // What was left of it may have come together to a new one.
    return text.find("parameter") == std::string::npos && text.find("function") == std::string::npos ? text
                                                                                                     : "<tag";
  });
}

rc::Gen<Json> arguments_of(rc::Gen<Json> value) {
  const auto key = rc::gen::element<std::string>("command", "path", "old_str", "view_range", "a.b", "X-1");
  const auto argument = rc::gen::pair(key, std::move(value));
  return rc::gen::map(rc::gen::container<std::vector<std::pair<std::string, Json>>>(argument),
                      [](const std::vector<std::pair<std::string, Json>>& all) {
                        Json arguments = Json::object();
                        for (const auto& [name, one] : all) arguments[name] = one;
                        return arguments;
                      });
}

}  // namespace

const std::vector<FormatTraits>& format_traits() {
  static const std::vector<FormatTraits> all = {
      {.name = "bash_block", .bash_only = true},
      {.name = "hermes", .several_calls = true, .any_json = true},
      {.name = "openai_tools", .several_calls = true, .has_ids = true, .any_json = true},
      {.name = "qwen3_coder", .several_calls = true},
      {.name = "react", .any_json = true},
      {.name = "thought_action", .bash_only = true},
      {.name = "xml_function"},
  };
  return all;
}

rc::Gen<std::string> any_text() {
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(soup_tokens())),
                      joined);
}

rc::Gen<std::string> complete_command() {
  const auto word = rc::gen::map(any_text(), quoted_word);
  const auto printing = rc::gen::map(word, [](const std::string& text) { return "printf %s " + text; });
  const auto document = rc::gen::map(any_text(), here_document);
  const auto fixed = rc::gen::element<std::string>(
      "ls -la", "echo \"a $(date +'%s') `pwd` ${x:-'}'}\" # it's done", "echo $((1 << 2)) \\' \\\"",
      "case $x in a) echo \"it's\";; esac", "cat <<A <<-B\n1\nA\n\t```\n\tB",
      "python3 - <<'PY'\nprint('''```''')\nPY",
      "git commit -m \"$(cat <<'EOF'\nit's\n```\ncode\n```\nEOF\n)\"", "# only a comment, don't run");
  const auto part = rc::gen::oneOf(printing, document, fixed);
  return rc::gen::map(rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(part)),
                      [](const std::vector<std::string>& parts) {
                        std::string command;
                        for (const std::string& one : parts) command += (command.empty() ? "" : "\n") + one;
                        return command;
                      });
}

rc::Gen<ToolCall> expressible_call(const FormatTraits& traits) {
  if (traits.bash_only) {
    // thought_action knows nothing of here-documents: a fence in one is a fence.
    const bool fences = traits.name == "bash_block";
    return rc::gen::map(complete_command(), [fences](std::string command) {
      if (!fences) command = replaced(std::move(command), "```", "~~~");
      return ToolCall{.tool = "bash", .arguments = {{"command", std::move(command)}}};
    });
  }
  const auto value = traits.any_json ? json_value() : rc::gen::map(text_without_tags(), [](std::string text) {
    return Json(std::move(text));
  });
  return rc::gen::apply(
      [](std::string tool, Json arguments) {
        return ToolCall{.tool = std::move(tool), .arguments = std::move(arguments)};
      },
      rc::gen::element<std::string>("bash", "str_replace_editor", "no.such/tool"), arguments_of(value));
}

}  // namespace forkpoint::tests
