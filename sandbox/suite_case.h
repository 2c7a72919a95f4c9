// Playing one case of a suite: its steps, one after the other, each compared with what is expected of it.
//
// play_case() uses the sandbox it is given and the forks it makes, and closes all of them. Cases may be
// played at the same time on one backend.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "sandbox/sandbox.h"
#include "sandbox/suite.h"

namespace forkpoint::sandbox {

struct CaseStart {
  std::unique_ptr<Sandbox> sandbox;  // after the case's setup
  SnapshotRef base;                  // what it was forked from; null if it was set up by itself
};

// Why the case failed, or nothing. A step that fails ends the case.
std::optional<std::string> play_case(const Case& one, Backend& backend, CaseStart start);

}  // namespace forkpoint::sandbox
