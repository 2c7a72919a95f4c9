#include "cli/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <set>
#include <sstream>

#include "core/nearest.h"

namespace forkpoint::cli {
namespace {

using Arguments = std::vector<std::string>;
using Verbs = std::vector<std::unique_ptr<Verb>>;

Error usage_error(std::string code, std::string message, std::string advice) {
  return Error{.boundary = Boundary::config,
               .fault = Fault::input,
               .code = std::move(code),
               .message = std::move(message),
               .advice = std::move(advice)};
}

std::string see_help(std::string_view command) { return fmt::format("see '{} --help'", command); }

// An unknown "verb" or "option": with the known name that was probably meant, where there is one.
Error unknown(std::string_view what, const std::string& name, const std::vector<std::string>& known,
              std::string_view command) {
  const std::optional<std::string> meant = core::nearest(name, known);
  return usage_error(fmt::format("unknown_{}", what), fmt::format("unknown {} '{}'", what, name),
                     (meant ? fmt::format("did you mean '{}'? ", *meant) : "") + see_help(command));
}

bool is_option(std::string_view argument) { return argument.starts_with('-'); }
bool is_help(std::string_view argument) { return argument == "--help" || argument == "-h"; }

std::vector<std::string> words_of(const std::string& path) {
  std::istringstream stream(path);
  return {std::istream_iterator<std::string>(stream), {}};
}

// The arguments up to the first option that are the beginning of some verb's path.
std::size_t matching_words(const Arguments& arguments, const Verb& verb) {
  const std::vector<std::string> words = words_of(verb.help().path);
  const auto [word, unused] = std::mismatch(words.begin(), words.end(), arguments.begin(), arguments.end());
  return static_cast<std::size_t>(word - words.begin());
}

Verb* find_verb(const Arguments& arguments, const Verbs& verbs) {
  for (const auto& verb : verbs) {
    if (matching_words(arguments, *verb) == words_of(verb->help().path).size()) return verb.get();
  }
  return nullptr;
}

// What stands after `group` (empty for the program itself) in the verbs' paths.
std::vector<std::string> next_words(const std::vector<std::string>& group, const Verbs& verbs) {
  std::set<std::string> next;
  for (const auto& verb : verbs) {
    if (matching_words(group, *verb) != group.size()) continue;
    const std::vector<std::string> words = words_of(verb->help().path);
    if (words.size() > group.size()) next.insert(words[group.size()]);
  }
  return {next.begin(), next.end()};
}

std::string group_help(const std::vector<std::string>& group, const Verbs& verbs) {
  std::string text =
      group.empty() ? "Forkpoint trains coding agents by reinforcement learning in forkable sandboxes.\n\n"
                      "Usage: forkpoint VERB [OPTIONS]\n\nVerbs:\n"
                    : fmt::format("Usage: forkpoint {} VERB [OPTIONS]\n\nVerbs:\n", group.front());
  for (const auto& verb : verbs) {
    if (matching_words(group, *verb) != group.size()) continue;
    text += fmt::format("  {:<24}{}\n", verb->help().path, verb->help().summary);
  }
  if (group.empty())
    text +=
        "\nOptions:\n  --help                  this text\n  --version               the program's version\n";
  return text + "\n'forkpoint VERB --help' explains a verb and shows an example.\n";
}

// No verb is named: help or the version was asked for, or the words are wrong.
Result<int> run_without_verb(const Arguments& arguments, const Verbs& verbs, std::ostream& out) {
  std::vector<std::string> group;
  std::string command = "forkpoint";
  for (const std::string& argument : arguments) {
    const std::vector<std::string> known = next_words(group, verbs);
    if (is_help(argument)) {
      out << group_help(group, verbs);
      return 0;
    }
    if (group.empty() && argument == "--version") {
      out << "forkpoint " FORKPOINT_VERSION "\n";
      return 0;
    }
    if (is_option(argument)) return unknown("option", argument, {"--help", "--version"}, command);
    if (std::find(known.begin(), known.end(), argument) == known.end()) {
      return unknown("verb", argument, known, command);
    }
    group.push_back(argument);
    command += " " + argument;
  }
  return usage_error("no_verb",
                     group.empty() ? "no verb given" : fmt::format("'{}' needs another word", group.front()),
                     see_help(command));
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

Error parse_failure(const CLI::ParseError& failure, const CLI::App& app, const std::string& command) {
  // An unknown option is what went wrong first, whatever the library missed after it.
  const std::vector<std::string> extras = app.remaining();
  if (const auto option = std::find_if(extras.begin(), extras.end(), is_option); option != extras.end()) {
    return unknown("option", option->substr(0, option->find('=')), option_names(app), command);
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&failure) != nullptr && !extras.empty()) {
    return usage_error("unexpected_argument", fmt::format("unexpected argument '{}'", extras.front()),
                       see_help(command));
  }
  std::string message = failure.what();
  std::replace(message.begin(), message.end(), '\n', ' ');
  return usage_error("bad_usage", message, see_help(command));
}

Result<int> run_verb(Verb& verb, const Arguments& arguments, std::ostream& out) {
  const VerbHelp help = verb.help();
  const std::string command = "forkpoint " + help.path;
  CLI::App app(help.summary, command);
  app.footer(fmt::format("Example:\n  {}", help.example));
  bool json = false;
  app.add_flag("--json", json, "Print one JSON object");
  verb.add_options(app);

  // CLI11 takes its arguments last to first.
  Arguments reversed(arguments.rbegin(),
                     arguments.rend() - static_cast<std::ptrdiff_t>(words_of(help.path).size()));
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    out << app.help();
    return 0;
  } catch (const CLI::ParseError& failure) {
    return parse_failure(failure, app, command).within(help.path);
  }
  Output output(out, json);
  return verb.run(output);
}

void report(const Error& error, bool json, std::ostream& out, std::ostream& err) {
  err << "forkpoint: " << error.to_line() << '\n';
  if (!json) return;
  const Json object = {{"error",
                        {{"boundary", to_string(error.boundary)},
                         {"fault", to_string(error.fault)},
                         {"code", error.code},
                         {"message", error.message},
                         {"advice", error.advice},
                         {"context", error.context}}}};
  out << core::to_text(object) << '\n';
}

Result<int> dispatch(const Arguments& arguments, const Verbs& verbs, std::ostream& out) {
  Verb* verb = find_verb(arguments, verbs);
  Result<int> code =
      verb == nullptr ? run_without_verb(arguments, verbs, out) : run_verb(*verb, arguments, out);
  if (code && !out.flush()) {
    return Error{.boundary = Boundary::system,
                 .code = "stdout_unwritable",
                 .message = "standard output can't be written"};
  }
  return code;
}

}  // namespace

int run_program(const Arguments& arguments, const Verbs& verbs, std::ostream& out, std::ostream& err) {
  // Usage errors come up before options are parsed, so whether JSON is wanted is looked up by hand; what
  // stands after "--" is another program's.
  const auto own_end = std::find(arguments.begin(), arguments.end(), "--");
  const bool json = std::find(arguments.begin(), own_end, "--json") != own_end;
  try {
    const Result<int> code = dispatch(arguments, verbs, out);
    if (code) return *code;
    report(code.error(), json, out, err);
    return exit_code(code.error().fault);
  } catch (const std::exception& exception) {
    report(Error{.boundary = Boundary::system,
                 .code = "internal",
                 .message = fmt::format("internal error: {}", exception.what()),
                 .advice = "please report it with the command that was run"},
           json, out, err);
    return exit_code(Fault::work);
  }
}

}  // namespace forkpoint::cli
