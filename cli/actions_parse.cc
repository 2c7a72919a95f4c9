#include "cli/actions_parse.h"

#include <fmt/format.h>

#include <istream>
#include <string>

#include "env/action_formats.h"
#include "env/parsers/openai_tools.h"

namespace forkpoint::cli {
namespace {

using env::AssistantMessage;
using env::Finish;

// Of `input` at most a byte more than a parser reads: it will say that this is too long.
std::string read_message(std::istream& input, std::size_t bytes_max) {
  std::string text(bytes_max + 1, '\0');
  input.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(input.gcount()));
  return text;
}

class ActionsParse final : public Verb {
 public:
  explicit ActionsParse(std::istream& input) : input_(input) {}

  VerbHelp help() const override {
    return {.path = "actions parse",
            .summary = "Print the calls in a model's message, read from standard input, as JSON",
            .example = "forkpoint actions parse --format bash_block < message.txt"};
  }

  void add_options(CLI::App& app) override {
    app.add_option("--format", format_,
                   fmt::format("How calls are written: {}. openai_tools reads a JSON message",
                               fmt::join(env::action_formats(), ", ")))
        ->required();
    app.add_option("--finish-reason", finish_,
                   "Why the model stopped, as its server says: stop, length; by default unknown")
        ->check(CLI::IsMember({"stop", "length"}));
  }

  // A message that can't be read is an answer, not a failure: its error is in the object.
  Result<int> run(Output& output) override {
    FORKPOINT_ASSIGN_OR_RETURN(const auto parser, env::make_action_parser(format_));
    FORKPOINT_ASSIGN_OR_RETURN(AssistantMessage message, read(*parser));
    if (!finish_.empty()) message.finish = finish_ == "stop" ? Finish::stop : Finish::length;
    output.print_line(to_json(parser->parse(message)));
    return 0;
  }

 private:
  Result<AssistantMessage> read(const env::ActionParser& parser) const {
    std::string text = read_message(input_, env::kMessageBytesMax);
    if (parser.name() == "openai_tools") {
      FORKPOINT_ASSIGN_OR_RETURN(const Json json, core::parse_json(text, "stdin"));
      return env::read_openai_message(json);
    }
    return AssistantMessage{.text = std::move(text)};
  }

  std::istream& input_;
  std::string format_;
  std::string finish_;
};

}  // namespace

std::unique_ptr<Verb> make_actions_parse(std::istream& input) {
  return std::make_unique<ActionsParse>(input);
}

}  // namespace forkpoint::cli
