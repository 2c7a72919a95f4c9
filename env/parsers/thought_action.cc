#include "env/parsers/thought_action.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "env/parsers/command_call.h"
#include "env/parsers/fences.h"
#include "env/parsers/shell_text.h"
#include "env/parsers/text.h"

namespace forkpoint::env {
namespace {

constexpr std::string_view kHowTo =
    "Explain what you do, then write the command into a block that begins with a line ``` and ends with a "
    "line "
    "```; the last block of your message is run.";

struct Block {
  Line opening;
  Line closing;

  std::string_view content(std::string_view text) const {
    // Without the line end before the closing fence, which belongs to the fence.
    const std::size_t end = std::max(closing.begin, opening.next + 1) - 1;
    return text.substr(opening.next, end - opening.next);
  }
};

struct Blocks {
  std::vector<Block> outermost;
  bool one_is_open = false;
};

Blocks find_blocks(std::string_view text, std::size_t at) {
  Blocks blocks;
  std::vector<Line> open;
  while (const std::optional<Line> line = line_at(text, at)) {
    at = line->next;
    const std::optional<Fence> fence = fence_of(line->of(text));
    const bool one_word = fence && fence->info.find_first_of(" \t") == std::string_view::npos;
    if (!one_word) continue;
    if (!fence->bare() || open.empty()) {
      open.push_back(*line);
      continue;
    }
    if (open.size() == 1) blocks.outermost.push_back({.opening = open.back(), .closing = *line});
    open.pop_back();
  }
  blocks.one_is_open = !open.empty();
  return blocks;
}

ShellText shell_text_of(std::string_view content) {
  ShellText shell;
  std::size_t at = 0;
  while (const std::optional<Line> line = line_at(content, at)) {
    shell.add_line(line->of(content));
    at = line->next;
  }
  return shell;
}

// Commands like SWE-agent's `edit 1:3 ... end_of_edit` take lines of any text.
bool holds_free_text(std::string_view content) {
  const std::size_t last_line = content.rfind('\n');
  return last_line != std::string_view::npos && content.substr(last_line + 1).starts_with("end_of_");
}

bool has_line(std::string_view text, std::size_t at, std::string_view wanted) {
  while (const std::optional<Line> line = line_at(text, at)) {
    if (line->of(text) == wanted) return true;
    at = line->next;
  }
  return false;
}

// The end of `earlier` may be a fence inside of a here-document that goes on behind it.
bool may_go_on(std::string_view text, const Block& earlier) {
  const std::vector<std::string> delimiters = shell_text_of(earlier.content(text)).delimiters();
  return std::any_of(delimiters.begin(), delimiters.end(), [&](const std::string& delimiter) {
    return has_line(text, earlier.closing.next, delimiter);
  });
}

class ThoughtAction final : public ActionParser {
 public:
  std::string_view name() const override { return "thought_action"; }

 private:
  ParsedMessage read(const AssistantMessage& message) const override {
    const std::string_view text = message.text;
    const std::optional<std::size_t> begin = answer_begin(text);
    if (!begin) return refused_unfinished_thought();
    const Blocks blocks = find_blocks(text, *begin);
    if (blocks.one_is_open) {
      return refused(
          "unclosed_block",
          fmt::format("A fenced block of your message is not closed, so nothing was run. {}", kHowTo));
    }
    if (blocks.outermost.empty()) {
      return refused("no_call",
                     fmt::format("Your message has no block with a command. Nothing was run. {}", kHowTo));
    }
    return read_action(text, blocks.outermost);
  }

  static ParsedMessage read_action(std::string_view text, const std::vector<Block>& blocks) {
    const Block& action = blocks.back();
    const std::string_view command = action.content(text);
    if (const auto open = shell_text_of(command).open(); open && !holds_free_text(command)) {
      return refused(
          "incomplete_command",
          fmt::format("Where the block of your command ends, {} is still open, so it was not run. A line "
                      "``` ends the block, whatever stands around it.",
                      *open));
    }
    if (std::any_of(blocks.begin(), blocks.end() - 1,
                    [&](const Block& earlier) { return may_go_on(text, earlier); })) {
      return refused(
          "ambiguous_fences",
          "A here-document of your message has a line ``` in it, so it is not clear where the command "
          "begins and ends, and nothing was run. Give fences inside a here-document a language "
          "(```text), or write the file in another way.");
    }
    return command_message(command, text.substr(0, action.opening.begin), text.substr(action.closing.next));
  }

  AssistantMessage write(std::string_view thought, const std::vector<ToolCall>& calls) const override {
    AssistantMessage message{.text = std::string(thought)};
    for (const ToolCall& call : calls) message.text += fmt::format("\n\n```\n{}\n```\n", command_of(call));
    return message;
  }
};

}  // namespace

std::unique_ptr<ActionParser> make_thought_action() { return std::make_unique<ThoughtAction>(); }

}  // namespace forkpoint::env
