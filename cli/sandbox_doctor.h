// forkpoint sandbox doctor: what of sandboxing this machine gives, and how to get the rest.
#pragma once

#include <memory>

#include "cli/verb.h"

namespace forkpoint::cli {

std::unique_ptr<Verb> make_sandbox_doctor();

}  // namespace forkpoint::cli
