// forkpoint doctor: what of this installation works, and what to do about the rest.
#pragma once

#include <memory>

#include "cli/verb.h"

namespace forkpoint::cli {

std::unique_ptr<Verb> make_doctor();

}  // namespace forkpoint::cli
