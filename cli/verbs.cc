#include "cli/verbs.h"

#include "cli/actions_parse.h"
#include "cli/config_show.h"
#include "cli/doctor.h"
#include "cli/sandbox_bench.h"
#include "cli/sandbox_doctor.h"
#include "cli/sandbox_run.h"
#include "cli/sandbox_test.h"

namespace forkpoint::cli {

std::vector<std::unique_ptr<Verb>> make_verbs() {
  std::vector<std::unique_ptr<Verb>> verbs;
  verbs.push_back(make_actions_parse());
  verbs.push_back(make_config_show());
  verbs.push_back(make_doctor());
  verbs.push_back(make_sandbox_bench());
  verbs.push_back(make_sandbox_doctor());
  verbs.push_back(make_sandbox_run());
  verbs.push_back(make_sandbox_test());
  return verbs;
}

}  // namespace forkpoint::cli
