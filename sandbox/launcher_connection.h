// LauncherConnection: requests to forkpoint-sandboxd and their answers, many at once.
//
// Safe from any thread. Owns the launcher's process: it ends with the connection.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "core/child_process.h"
#include "core/result.h"
#include "sandbox/wire.h"

namespace forkpoint::sandbox {

class LauncherConnection {
 public:
  LauncherConnection(core::ChildProcess process, core::UniqueFd socket);
  ~LauncherConnection();
  LauncherConnection(const LauncherConnection&) = delete;
  LauncherConnection& operator=(const LauncherConnection&) = delete;

  // Sends and waits for the answer; an answer `failed` is its error. Error `sandbox_lost` where the launcher
  // is dead.
  Result<Message> call(MessageType type, std::string_view body);
  // Sends, and expects no answer.
  void tell(MessageType type, std::string_view body);

  int pid() const { return process_.pid(); }

 private:
  void read_answers();

  core::ChildProcess process_;
  core::UniqueFd socket_;
  std::mutex send_mutex_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable answered_;
  std::map<std::uint32_t, std::optional<Message>> waiting_;
  std::uint32_t next_id_ = 1;
  bool dead_ = false;
  std::thread reader_;
};

// A call on a socket with one request at a time.
Result<Message> call_once(int socket, MessageType type, std::uint32_t id, std::string_view body);

// What is said when the other end is gone.
Error sandbox_lost(std::string what);

}  // namespace forkpoint::sandbox
