// Verb: one command of the program, "config show" or "doctor", in one file pair.
//
// A verb declares its options on a CLI::App, which is parsed for it, and then runs once. It prints results
// through Output only; stderr belongs to the log and to progress. Verbs are used by one thread.
#pragma once

#include <CLI/CLI.hpp>
#include <ostream>
#include <string>
#include <string_view>

#include "core/json.h"
#include "core/result.h"

namespace forkpoint::cli {

// Where a verb's results go: standard output, as one JSON object when --json was given, else as text.
class Output {
 public:
  Output(std::ostream& stream, bool json) : stream_(stream), json_(json) {}

  bool json() const { return json_; }

  // The verb's result, both ways; call it once.
  void print(const Json& object, std::string_view text);

  // The same where the text is another program's: without --json, its bytes and no other.
  void print_exactly(const Json& object, std::string_view bytes);

  // One of many results, a line of JSON each, for the verbs whose contract says so; instead of print().
  void print_line(const Json& object);

 private:
  std::ostream& stream_;
  bool json_;
};

struct VerbHelp {
  std::string path;     // the words that call it: "config show"
  std::string summary;  // one line, no final full stop
  std::string example;  // one line that works as it is
};

class Verb {
 public:
  virtual ~Verb() = default;
  virtual VerbHelp help() const = 0;

  // Binds options to members of this verb. --help and --json are added for every verb.
  virtual void add_options(CLI::App& app) = 0;

  // Does the work; the value is the exit code: 0, or 1 where a check found a fault.
  virtual Result<int> run(Output& output) = 0;
};

}  // namespace forkpoint::cli
