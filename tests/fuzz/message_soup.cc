#include "tests/fuzz/message_soup.h"

namespace forkpoint::tests {
namespace {

// Beginnings and ends of calls, so that soups are not all refused at their first mark.
struct Wrapping {
  const char* before;
  const char* after;
};

constexpr Wrapping kWrappings[] = {
    {"", ""},
    {"```bash\n", "\n```\n"},
    {"```bash\ncat <<'EOF' > a.md\n", "\nEOF\n```\n"},
    {"```\n", "\n```\n"},
    {"<function=bash>\n<parameter=command>\n", "\n</parameter>\n</function>\n"},
    {"<function=edit>\n<parameter=path>a</parameter>\n<parameter=text>", "</parameter>\n</function>\n"},
    {"<tool_call>\n<function=bash>\n<parameter=command>\n", "\n</parameter>\n</function>\n</tool_call>\n"},
    {"<tool_call>\n{\"name\": \"bash\", \"arguments\": {\"command\": \"", "\"}}\n</tool_call>\n"},
    {"Thought: x\nAction: bash\nAction Input: {\"command\": \"", "\"}\n"},
    {"{\"command\": \"", "\"}"},
    {"<think>\n", "\n</think>\n"},
};

template <class Container>
const auto& one_of(core::RngStream& rng, const Container& container) {
  return container[rng.below(std::size(container))];
}

}  // namespace

const std::vector<std::string>& soup_tokens() {
  static const std::vector<std::string> tokens = {"ls",
                                                  "echo ",
                                                  "-la",
                                                  " ",
                                                  "\n",
                                                  "\n",
                                                  "\n\n",
                                                  "\t",
                                                  "\r\n",
                                                  "\r",
                                                  "\\",
                                                  "\\\n",
                                                  "'",
                                                  "\"",
                                                  "`",
                                                  "$",
                                                  "$(",
                                                  ")",
                                                  "(",
                                                  "((",
                                                  "))",
                                                  "${",
                                                  "}",
                                                  "{",
                                                  "$'",
                                                  "$((",
                                                  "#",
                                                  " # it's",
                                                  ";",
                                                  "|",
                                                  "&&",
                                                  ">",
                                                  "<",
                                                  "<<",
                                                  "<<-",
                                                  "<<EOF\n",
                                                  "<<'EOF'\n",
                                                  "<<-\"EOF\"\n",
                                                  "\nEOF\n",
                                                  "\n\tEOF\n",
                                                  "\nEOF",
                                                  "<<<",
                                                  "1<<2",
                                                  "case x in a) ",
                                                  " esac",
                                                  "```",
                                                  "\n```\n",
                                                  "\n```bash\n",
                                                  "\n```mswea_bash_command\n",
                                                  "\n```python\n",
                                                  "````",
                                                  "```ls```",
                                                  "\n``` \n",
                                                  "<think>",
                                                  "</think>",
                                                  "<tool_call>",
                                                  "</tool_call>",
                                                  "<function=",
                                                  "<function=bash>",
                                                  "</function>",
                                                  "</",
                                                  "</function",
                                                  "<parameter=",
                                                  "<parameter=command>",
                                                  "<parameter=path>",
                                                  "</parameter>",
                                                  "<![CDATA[",
                                                  "]]>",
                                                  "&lt;",
                                                  "<!--",
                                                  "-->",
                                                  "{\"name\": \"bash\", \"arguments\": {}}",
                                                  "{\"a\": 1, \"a\": 2}",
                                                  "\\\"",
                                                  "\\n",
                                                  "\\u00e9",
                                                  "\\ud83d",
                                                  ",",
                                                  ":",
                                                  "[",
                                                  "]",
                                                  "null",
                                                  "1e999",
                                                  "12345678901234567890123",
                                                  "Action: ",
                                                  "\nAction: bash\n",
                                                  "\nAction Input: ",
                                                  "\nObservation: ",
                                                  "Thought: ",
                                                  "\nend_of_edit",
                                                  "edit 1:2\n",
                                                  "\u00fcber",
                                                  "\u65e5\u672c",
                                                  "\U0001F600",
                                                  "\u0301",
                                                  "\u2028",
                                                  "\u00a0",
                                                  std::string(1, '\0'),
                                                  "\x1b[31m",
                                                  "\x7f"};
  return tokens;
}

std::string message_soup(core::RngStream& rng, std::size_t tokens_max) {
  std::string text;
  for (std::uint64_t parts = rng.below(3) + 1; parts > 0; --parts) {
    const Wrapping& wrapping = one_of(rng, kWrappings);
    text += wrapping.before;
    for (std::uint64_t left = rng.below(tokens_max); left > 0; --left) text += one_of(rng, soup_tokens());
    text += wrapping.after;
  }
  return text;
}

}  // namespace forkpoint::tests
