// Landlock: what the processes of a sandbox of level L1 may do to files, other processes and the network.
//
//   LandlockRules rules = ...build(init_program);                      // once: the machine's folders
//   FORKPOINT_ASSIGN_OR_RETURN(const core::UniqueFd ruleset, rules.ruleset_for(tree, Network::none));
//   enter_ruleset(ruleset.get());                                      // in the new process, for good
//
// Grants reading of programs and their data, of what everybody may read of /etc, and of /proc; writing of the
// sandbox's own folders and of devices without memory. All else is refused, and so are TCP, processes
// outside, and abstract sockets of others, as far as the kernel's version of Landlock goes. Single-threaded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/unique_fd.h"
#include "sandbox/launcher/folder_tree.h"
#include "sandbox/policy.h"

namespace forkpoint::sandbox {

// The version of Landlock's interface that the kernel has; 0: none.
int landlock_abi();
// What that version can't keep from a sandbox, in words: "truncation of files, TCP"; empty for nothing known.
std::string landlock_gaps(int abi);

class LandlockRules {
 public:
  // `init_program`: a descriptor of the program that a sandbox starts with. Error `no_landlock`
  // (Fault::host).
  static Result<LandlockRules> build(int init_program);

  // What one sandbox may do, to be entered by its first process.
  Result<core::UniqueFd> ruleset_for(const FolderTree& tree, Network network) const;

 private:
  // Something on the machine, held open, and what may be done below it.
  struct Rule {
    core::UniqueFd place;
    std::uint64_t access = 0;
  };

  void allow(const std::string& path, std::uint64_t access);
  void allow_public_files(const std::string& folder);

  int abi_ = 0;
  std::vector<Rule> rules_;
};

// For the calling process and all that it starts; needs no_new_privs. Error `no_landlock`.
Result<void> enter_ruleset(int ruleset);

}  // namespace forkpoint::sandbox
