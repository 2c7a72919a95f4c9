#include "cli/verbs.h"

#include "cli/config_show.h"

namespace forkpoint::cli {

std::vector<std::unique_ptr<Verb>> make_verbs() {
  std::vector<std::unique_ptr<Verb>> verbs;
  verbs.push_back(make_config_show());
  return verbs;
}

}  // namespace forkpoint::cli
