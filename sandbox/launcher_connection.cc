#include "sandbox/launcher_connection.h"

#include <sys/socket.h>

#include <utility>

namespace forkpoint::sandbox {

Error sandbox_lost(std::string what) {
  return {.boundary = Boundary::sandbox,
          .fault = Fault::transient,
          .code = "sandbox_lost",
          .message = std::move(what),
          .advice = "make a new one and replay what it had done"};
}

LauncherConnection::LauncherConnection(core::ChildProcess process, core::UniqueFd socket)
    : process_(std::move(process)), socket_(std::move(socket)), reader_([this] { read_answers(); }) {}

LauncherConnection::~LauncherConnection() {
  // The end of the socket is the launcher's sign to end; it does so at once, and its janitor goes on.
  shutdown(socket_.get(), SHUT_RDWR);
  reader_.join();
  process_.wait();
}

Result<Message> LauncherConnection::call(MessageType type, std::string_view body) {
  std::uint32_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    if (dead_) return sandbox_lost("the launcher is dead");
    id = next_id_++;
    waiting_[id];
  }
  {
    const std::lock_guard lock(send_mutex_);
    if (const auto sent = send_message(socket_.get(), type, id, body); !sent) {
      const std::lock_guard waiting_lock(mutex_);
      waiting_.erase(id);
      return sent.error().code == "peer_gone" ? sandbox_lost("the launcher is dead") : sent.error();
    }
  }
  std::unique_lock lock(mutex_);
  answered_.wait(lock, [&] { return dead_ || waiting_.at(id).has_value(); });
  std::optional<Message> answer = std::move(waiting_.at(id));
  waiting_.erase(id);
  if (!answer) return sandbox_lost("the launcher died");
  if (answer->type == MessageType::failed) return decode_error(answer->body);
  return std::move(*answer);
}

void LauncherConnection::tell(MessageType type, std::string_view body) {
  const std::lock_guard lock(send_mutex_);
  (void)send_message(socket_.get(), type, 0, body);
}

void LauncherConnection::read_answers() {
  for (;;) {
    auto message = receive_message(socket_.get());
    const std::lock_guard lock(mutex_);
    if (!message || !message->has_value()) {
      dead_ = true;
      answered_.notify_all();
      return;
    }
    const auto waiting = waiting_.find((*message)->id);
    if (waiting == waiting_.end()) continue;
    waiting->second = std::move(**message);
    answered_.notify_all();
  }
}

Result<Message> call_once(int socket, MessageType type, std::uint32_t id, std::string_view body) {
  auto failed = [](const Error& error) {
    return error.code == "peer_gone" ? sandbox_lost("the sandbox is gone") : error;
  };
  if (const auto sent = send_message(socket, type, id, body); !sent) return failed(sent.error());
  for (;;) {
    auto message = receive_message(socket);
    if (!message) return failed(message.error());
    if (!message->has_value()) return sandbox_lost("the sandbox is gone");
    if ((*message)->id != id) continue;
    if ((*message)->type == MessageType::failed) return decode_error((*message)->body);
    return std::move(**message);
  }
}

}  // namespace forkpoint::sandbox
