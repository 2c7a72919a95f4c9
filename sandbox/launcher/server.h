// Server: the launcher's loop: requests of its one client, what inits say, and answers of workers.
//
// Single-threaded. What takes long (hashing, comparing, measuring, unpacking) runs in workers, processes of
// their own that answer once.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/unique_fd.h"
#include "sandbox/launcher/live_sandbox.h"
#include "sandbox/launcher/machine.h"
#include "sandbox/wire.h"

namespace forkpoint::sandbox {

class Server {
 public:
  // `client`: not owned.
  Server(Machine& machine, int client) : machine_(machine), client_(client) {}

  // Until the client has closed its end. Then every sandbox is gone.
  void run();

 private:
  // A sandbox, and to whom its start is to be reported.
  struct Slot {
    std::unique_ptr<LiveSandbox> sandbox;
    std::uint32_t request = 0;
    MessageType answer = MessageType::created;
    std::string snapshot;  // that was taken of it, for the answer
    bool ready = false;
  };
  struct Worker {
    core::UniqueFd answers;
    pid_t pid = -1;
    std::function<void(const Message&)> done;
  };
  // What a worker sends back.
  struct Answer {
    MessageType type = MessageType::done;
    std::string body = {};
  };

  void handle(const Message& message);
  Result<void> dispatch(const Message& message);
  Result<void> create(const Message& message);
  Result<void> start_sandbox(std::uint32_t request, SandboxState state);
  Result<void> fork_snapshot(const Message& message);
  Result<void> take_snapshot(const Message& message);
  Result<void> destroy(const Message& message);
  Result<void> find_changes(const Message& message);
  Result<void> hash_tree(const Message& message);

  // At L1 (server_folders.cc).
  Result<LayerRef> new_copy();
  Result<void> create_in_folders(std::uint32_t request, const SandboxPolicy& policy);
  Result<void> start_in_folders(std::uint32_t request, const SandboxState& state);
  Result<void> copy_snapshot(std::uint32_t request, const std::string& id, SandboxState state);

  void hear_init(const std::string& id);
  void report_start(Slot& slot);
  void measure_disk(const std::string& id);
  void hear_worker(std::size_t index);
  Result<void> start_worker(std::function<Answer()> work, std::function<void(const Message&)> done);
  Result<void> start_worker_for(std::uint32_t request, std::function<Answer()> work);

  Result<Slot*> find_slot(const std::string& id);
  Result<const SandboxState*> find_snapshot(const std::string& id);
  void answer(std::uint32_t request, MessageType type, const std::string& body,
              const std::vector<int>& fds = {});
  void refuse(std::uint32_t request, const Error& error) {
    answer(request, MessageType::failed, encode_error(error));
  }

  Machine& machine_;
  int client_;
  std::map<std::string, Slot> slots_;
  std::map<std::string, SandboxState> snapshots_;
  std::vector<Worker> workers_;
  std::uint64_t next_id_ = 1;
};

}  // namespace forkpoint::sandbox
