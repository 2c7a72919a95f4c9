// forkpoint actions parse --format FORMAT: the calls that a model's message holds, as JSON.
#pragma once

#include <iostream>
#include <memory>

#include "cli/verb.h"

namespace forkpoint::cli {

// Reads the message from `input`, which must outlive the verb.
std::unique_ptr<Verb> make_actions_parse(std::istream& input = std::cin);

}  // namespace forkpoint::cli
