// forkpoint config show CONFIG.toml: the config as the program understands it, defaults and overrides
// included.
#pragma once

#include <memory>

#include "cli/verb.h"

namespace forkpoint::cli {

std::unique_ptr<Verb> make_config_show();

}  // namespace forkpoint::cli
