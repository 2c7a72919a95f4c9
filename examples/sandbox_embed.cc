// Sandboxes in a program of your own: make one, act in it, fork it, see what changed. Built and run by the
// tests.
//
//   sandbox_embed        needs forkpoint-sandboxd and forkpoint-init beside it, or FORKPOINT_LIBEXEC
#include <cstdio>

#include "sandbox/local_backend.h"

using namespace forkpoint;           // NOLINT(google-build-using-namespace): an example
using namespace forkpoint::sandbox;  // NOLINT(google-build-using-namespace)

static Result<void> play() {
  FORKPOINT_ASSIGN_OR_RETURN(const auto backend, LocalBackend::start());
  SandboxPolicy policy;
  policy.limits.wall_s_max = 30;
  FORKPOINT_ASSIGN_OR_RETURN(const auto sandbox, backend->create(policy));
  FORKPOINT_RETURN_IF_ERROR(sandbox->run("mkdir app; cd app; echo 'print(6 * 7)' > answer.py; tries=1"));

  // Two futures of one past: files, folder and variables are those of the snapshot.
  FORKPOINT_ASSIGN_OR_RETURN(const SnapshotRef snapshot, sandbox->snapshot());
  FORKPOINT_ASSIGN_OR_RETURN(const auto fork, backend->fork(snapshot));
  FORKPOINT_ASSIGN_OR_RETURN(const ExecResult forked,
                             fork->run("echo changed > answer.py; echo $((tries + 1)) in $PWD"));
  FORKPOINT_ASSIGN_OR_RETURN(const ExecResult parent, sandbox->run("cat answer.py"));
  std::printf("fork says: %sparent has: %s", forked.output.text().c_str(), parent.output.text().c_str());

  FORKPOINT_ASSIGN_OR_RETURN(const std::vector<ChangedFile> changes, fork->changed_files());
  for (const ChangedFile& file : changes)
    std::printf("in the fork: %s %s\n", to_string(file.kind).data(), file.path.c_str());
  return {};
}

int main() {
  const Result<void> played = play();
  if (played) return 0;
  std::fprintf(stderr, "%s\n", played.error().to_line().c_str());
  return exit_code(played.error().fault);
}
