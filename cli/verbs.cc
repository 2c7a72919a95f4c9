#include "cli/verbs.h"

#include "cli/config_show.h"
#include "cli/doctor.h"

namespace forkpoint::cli {

std::vector<std::unique_ptr<Verb>> make_verbs() {
  std::vector<std::unique_ptr<Verb>> verbs;
  verbs.push_back(make_config_show());
  verbs.push_back(make_doctor());
  return verbs;
}

}  // namespace forkpoint::cli
