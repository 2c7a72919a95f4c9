#include "env/parsers/bash_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "env/parsers/command_call.h"
#include "env/parsers/fences.h"
#include "env/parsers/shell_text.h"
#include "env/parsers/text.h"

namespace forkpoint::env {
namespace {

constexpr std::string_view kHowTo =
    "Write the command into one block that begins with a line ```bash and ends with a line ```, and nothing "
    "else into such a block.";

bool is_action(const Fence& fence) { return fence.info == "bash" || fence.info == "mswea_bash_command"; }

bool closes(const Fence& fence, const Fence& opening) { return fence.bare() && fence.ticks >= opening.ticks; }

// The fences inside a here-document. Where one could be the end of this block and a later one the beginning
// of the next, the document's delimiter may belong to that next block, and nobody can tell.
class InnerFences {
 public:
  // False when the document is ambiguous from here on.
  bool add(const Fence& fence) {
    if (state_ == State::in_bare && is_action(fence)) return false;
    if (state_ == State::outside) {
      state_ = fence.bare() ? State::in_bare : State::in_named;
    } else if (fence.bare()) {
      state_ = State::outside;
    }
    return true;
  }

  void end_document() { state_ = State::outside; }

 private:
  enum class State { outside, in_bare, in_named };
  State state_ = State::outside;
};

struct Block {
  std::string_view command;
  std::size_t begin = 0;  // of the opening fence
  std::size_t end = 0;    // behind the closing fence's line
};

class BlockReader {
 public:
  explicit BlockReader(std::string_view text) : text_(text) {}

  // All blocks of actions from `at` on; on a fault the first, in error().
  std::vector<Block> read(std::size_t at) {
    std::vector<Block> blocks;
    while (!error_) {
      const std::optional<Line> line = line_at(text_, at);
      if (!line) break;
      at = line->next;
      const std::string_view words = line->of(text_);
      if (const auto opening = fence_at_end(words); opening && is_action(*opening)) {
        if (const auto block = read_action(*opening, line->begin + opening->at, at)) {
          blocks.push_back(*block);
          at = block->end;
        }
      } else if (const auto other = fence_of(words)) {
        at = skip_other(*other, at);
      }
    }
    return blocks;
  }

  const std::optional<ParsedMessage>& error() const { return error_; }

 private:
  std::optional<Block> read_action(const Fence& opening, std::size_t fence_begin, std::size_t begin) {
    ShellText shell;
    InnerFences inner;
    const std::string opening_ticks(opening.ticks, '`');
    for (std::size_t at = begin;;) {
      const std::optional<Line> line = line_at(text_, at);
      if (!line) return refuse_unclosed(shell.open());
      at = line->next;
      const std::optional<Fence> fence = fence_of(line->of(text_));
      const bool in_document = shell.in_here_document();
      if (!in_document && fence && closes(*fence, opening)) {
        if (const auto open = shell.open()) return refuse_incomplete(*open);
        return Block{.command = text_.substr(begin, std::max(line->begin, begin + 1) - begin - 1),
                     .begin = fence_begin,
                     .end = line->next};
      }
      if (in_document && fence && !inner.add(*fence)) return refuse_ambiguous();
      // A line that begins like the end of the block and is not.
      if (!in_document && line->of(text_).starts_with(opening_ticks)) return refuse_ambiguous();
      shell.add_line(line->of(text_));
      if (!shell.in_here_document()) inner.end_document();
    }
  }

  // Behind a block of another language, or the end of the text.
  std::size_t skip_other(const Fence& opening, std::size_t at) {
    while (const std::optional<Line> line = line_at(text_, at)) {
      at = line->next;
      const std::optional<Fence> fence = fence_of(line->of(text_));
      if (fence && closes(*fence, opening)) return at;
    }
    refuse_unclosed(std::nullopt);
    return at;
  }

  std::nullopt_t refuse_unclosed(const std::optional<std::string>& open) {
    error_ = refused("unclosed_block",
                     fmt::format("A fenced block of your message is not closed{}, so nothing was run. {}",
                                 open ? fmt::format(" ({} is still open at the end)", *open) : "", kHowTo));
    return std::nullopt;
  }

  std::nullopt_t refuse_incomplete(const std::string& open) {
    error_ = refused(
        "incomplete_command",
        fmt::format(
            "Where the block of your command ends, {} is still open, so the command was not run. If it "
            "needs a line of backticks, write that line through a here-document.",
            open));
    return std::nullopt;
  }

  std::nullopt_t refuse_ambiguous() {
    error_ = refused(
        "ambiguous_fences",
        "A here-document in your command holds a line ``` and later a line that begins a new block of "
        "commands, so it is not clear where the command ends, and it was not run. End the "
        "here-document before the block ends, and write one block only.");
    return std::nullopt;
  }

  std::string_view text_;
  std::optional<ParsedMessage> error_;
};

class BashBlock final : public ActionParser {
 public:
  std::string_view name() const override { return "bash_block"; }

 private:
  ParsedMessage read(const AssistantMessage& message) const override {
    const std::string_view text = message.text;
    const std::optional<std::size_t> begin = answer_begin(text);
    if (!begin) return refused_unfinished_thought();
    BlockReader reader(text);
    const std::vector<Block> blocks = reader.read(*begin);
    if (reader.error()) return *reader.error();
    if (blocks.size() != 1) {
      return refused(
          blocks.empty() ? "no_call" : "several_calls",
          fmt::format("Expected exactly one block with a bash command, found {}. Nothing was run. {}",
                      blocks.size(), kHowTo));
    }
    const Block& block = blocks.front();
    return command_message(block.command, text.substr(0, block.begin), text.substr(block.end));
  }

  AssistantMessage write(std::string_view thought, const std::vector<ToolCall>& calls) const override {
    AssistantMessage message{.text = std::string(thought)};
    for (const ToolCall& call : calls)
      message.text += fmt::format("\n\n```bash\n{}\n```\n", command_of(call));
    return message;
  }
};

}  // namespace

std::unique_ptr<ActionParser> make_bash_block() { return std::make_unique<BashBlock>(); }

}  // namespace forkpoint::env
