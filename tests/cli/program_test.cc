#include "cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace forkpoint::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A verb that does what its options say.
class EchoVerb final : public Verb {
 public:
  explicit EchoVerb(std::string path) : path_(std::move(path)) {}

  VerbHelp help() const override {
    return {.path = path_, .summary = "Say something", .example = "forkpoint " + path_ + " --word hello"};
  }
  void add_options(CLI::App& app) override {
    app.add_option("--word", word_, "What to say");
    app.add_option("--count", count_, "How often");
    app.add_flag("--fail", fail_, "Fail for want of a GPU");
    app.add_flag("--throw", throw_, "Throw");
  }
  Result<int> run(Output& output) override {
    if (throw_) throw std::runtime_error("thrown");
    if (fail_)
      return Error{
          .boundary = Boundary::learner, .fault = Fault::host, .code = "no_gpu", .message = "no GPU"};
    output.print({{"word", word_}, {"count", count_}}, word_);
    return count_ == 0 ? 1 : 0;
  }

 private:
  std::string path_;
  std::string word_ = "nothing";
  int count_ = 1;
  bool fail_ = false;
  bool throw_ = false;
};

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

Outcome run(const std::vector<std::string>& arguments) {
  std::vector<std::unique_ptr<Verb>> verbs;
  for (const char* path : {"echo", "sandbox run", "sandbox doctor"})
    verbs.push_back(std::make_unique<EchoVerb>(path));
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_program(arguments, verbs, out, err);
  return {code, out.str(), err.str()};
}

TEST(Program, ListsItsVerbs_WhenAskedForHelp) {
  const Outcome outcome = run({"--help"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("  sandbox doctor          Say something\n"));
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(run({"-h"}).out, outcome.out);
}

TEST(Program, ListsTheVerbsOfAGroup) {
  const Outcome outcome = run({"sandbox", "--help"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("sandbox run"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("echo")));
}

TEST(Program, ShowsOptionsAndExample_WhenAskedForAVerbsHelp) {
  const Outcome outcome = run({"sandbox", "run", "--help"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("--word"));
  EXPECT_THAT(outcome.out, HasSubstr("--json"));
  EXPECT_THAT(outcome.out, HasSubstr("Example:\n  forkpoint sandbox run --word hello"));
}

TEST(Program, PrintsItsVersion) {
  const Outcome outcome = run({"--version"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, testing::MatchesRegex("forkpoint [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Program, RunsAVerbWithItsOptions) {
  const Outcome outcome = run({"echo", "--word", "hello"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "hello\n");
}

TEST(Program, PrintsOneObject_WhenJsonIsAskedFor) {
  EXPECT_EQ(run({"sandbox", "run", "--word=hi", "--json"}).out, "{\"word\":\"hi\",\"count\":1}\n");
}

TEST(Program, PassesOnTheVerbsExitCode) { EXPECT_EQ(run({"echo", "--count", "0"}).code, 1); }

// Bad usage: one line that says what is wrong and what to do, nothing on stdout, exit code 2.
struct BadUsage {
  std::vector<std::string> arguments;
  std::string message;
  friend std::ostream& operator<<(std::ostream& out, const BadUsage& usage) { return out << usage.message; }
};

class ProgramUsage : public testing::TestWithParam<BadUsage> {};

TEST_P(ProgramUsage, IsExplainedInOneLine) {
  const Outcome outcome = run(GetParam().arguments);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, GetParam().message + "\n");
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ProgramUsage,
    testing::Values(
        BadUsage{{}, "forkpoint: no verb given (see 'forkpoint --help')"},
        BadUsage{{"ehco"}, "forkpoint: unknown verb 'ehco' (did you mean 'echo'? see 'forkpoint --help')"},
        BadUsage{{"zzz"}, "forkpoint: unknown verb 'zzz' (see 'forkpoint --help')"},
        BadUsage{{"--verison"},
                 "forkpoint: unknown option '--verison' (did you mean '--version'? see 'forkpoint --help')"},
        BadUsage{{"sandbox"}, "forkpoint: 'sandbox' needs another word (see 'forkpoint sandbox --help')"},
        BadUsage{{"sandbox", "rnu"},
                 "forkpoint: unknown verb 'rnu' (did you mean 'run'? see 'forkpoint sandbox --help')"},
        BadUsage{{"sandbox", "--jsn"}, "forkpoint: unknown option '--jsn' (see 'forkpoint sandbox --help')"},
        BadUsage{
            {"echo", "--wrod", "x"},
            "forkpoint: echo: unknown option '--wrod' (did you mean '--word'? see 'forkpoint echo --help')"},
        BadUsage{
            {"echo", "--wrod=x"},
            "forkpoint: echo: unknown option '--wrod' (did you mean '--word'? see 'forkpoint echo --help')"},
        BadUsage{{"echo", "extra"},
                 "forkpoint: echo: unexpected argument 'extra' (see 'forkpoint echo --help')"}));

// The middle of these messages is the option library's own.
TEST(Program, NamesTheOptionAndTheHelp_WhenAValueIsMissingOrWrong) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"echo", "--count"}, std::vector<std::string>{"echo", "--count", "many"}}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, testing::StartsWith("forkpoint: echo: "));
    EXPECT_THAT(outcome.err, HasSubstr("--count"));
    EXPECT_THAT(outcome.err, testing::EndsWith(" (see 'forkpoint echo --help')\n"));
  }
}

TEST(Program, TellsScriptsTooWhatWentWrong_WhenJsonIsAskedFor) {
  const Outcome outcome = run({"echo", "--fail", "--json"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.err, "forkpoint: no GPU\n");
  EXPECT_EQ(
      outcome.out,
      "{\"error\":{\"boundary\":\"learner\",\"fault\":\"host\",\"code\":\"no_gpu\",\"message\":\"no GPU\","
      "\"advice\":\"\",\"context\":[]}}\n");
  EXPECT_THAT(run({"ehco", "--json"}).out, HasSubstr("\"code\":\"unknown_verb\""));
  EXPECT_EQ(run({"echo", "--fail", "--", "--json"}).out, "") << "what follows -- belongs to another program";
}

TEST(Program, ReportsAnEscapedExceptionAsAnInternalError) {
  const Outcome outcome = run({"echo", "--throw"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err,
            "forkpoint: internal error: thrown (please report it with the command that was run)\n");
}

TEST(Program, Fails_WhenItsOutputCantBeWritten) {
  std::vector<std::unique_ptr<Verb>> verbs;
  verbs.push_back(std::make_unique<EchoVerb>("echo"));
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  std::ostringstream err;
  EXPECT_EQ(run_program({"echo"}, verbs, out, err), 1);
  EXPECT_EQ(err.str(), "forkpoint: standard output can't be written\n");
}

}  // namespace
}  // namespace forkpoint::cli
