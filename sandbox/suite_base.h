// SuiteBase: the state that several cases of a suite start from.
//
// Made when the first case asks for it, and given up when the last one has ended. Safe from any thread.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>

#include "sandbox/sandbox.h"
#include "sandbox/suite.h"
#include "sandbox/suite_case.h"

namespace forkpoint::sandbox {

// Why a case can't be played.
struct CaseObstacle {
  bool is_lack =
      false;  // the image or the host lacks what the case requires: it is skipped, and fails otherwise
  std::string reason;
};

class SuiteBase {
 public:
  explicit SuiteBase(const Case& first) : like_(first) {}

  // Whether the case starts from the same state as those that this base is for.
  bool serves(const Case& one) const;

  void add_user() { ++users_; }
  // Called by each user when it has ended; the last one drops the snapshot.
  void release();

  // A sandbox in the base state, for one case. The obstacle in its stead if there is one.
  std::optional<CaseObstacle> start(const Case& one, Backend& backend, CaseStart& start);

 private:
  void prepare(Backend& backend);

  const Case& like_;
  std::mutex mutex_;
  std::size_t users_ = 0;
  bool prepared_ = false;
  std::optional<CaseObstacle> obstacle_;
  SnapshotRef snapshot_;  // null: can't be forked, for this reason
  std::string why_not_forkable_;
};

}  // namespace forkpoint::sandbox
