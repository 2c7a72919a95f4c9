// Outcome: how an episode ended and what it is worth.
//
// An infrastructure failure is an outcome of its own and has no reward: whoever trains on outcomes drops it.
// Plain values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace forkpoint::env {

enum class OutcomeKind {
  resolved,
  unresolved,    // also: a test command that ran out of time
  format_limit,  // too many messages in a row that could not be read
  turn_limit,
  context_limit,  // the caller's limit on tokens
  time_limit,
  infra_error,  // the machine, not the agent: `infra` says which
};

std::string_view to_string(OutcomeKind kind);

enum class TestStatus { passed, failed, error, skipped, missing };

std::string_view to_string(TestStatus status);

// What a test command reported, by the test's name as its runner writes it.
using TestResults = std::map<std::string, TestStatus>;

// Something that an episode did which could have bent its own judgement. What is undone before scoring is
// reported all the same.
struct Tampering {
  std::string code;  // "edited_test", "planted_file", ... (env/guards.h)
  std::string path;
};

struct Outcome {
  OutcomeKind kind = OutcomeKind::unresolved;
  std::optional<double> reward;  // 0 or 1; none for infra_error
  std::string infra;             // of infra_error: an error's code
  std::string detail;            // one line for people
  std::string patch;             // what the episode changed, in git's format; of answers: the answer
  TestResults tests;             // empty where no test ran
  std::vector<Tampering> tampering;
};

Json to_json(const Outcome& outcome);

}  // namespace forkpoint::env
