// wire: the messages between client, launcher and init, over Unix seqpacket sockets.
//
// A message is a type, an id that its answer repeats, a body of fields, and descriptors. A body that is too
// long for a packet travels in a sealed memory file. Every length is checked before anything is allocated, so
// that a peer that lies gets an error, never memory. Both ends must speak kVersion; hello messages say so.
//
//   Writer body;
//   body.text("/workspace").u64(4096);
//   send_message(socket, {.type = MessageType::open, .id = 7, .body = body.take()});
//
// Functions are safe from any thread as long as each socket has one sender and one receiver at a time. A
// message owns the descriptors that it came with; those that are sent stay their owner's.
//
// Grammar: packet = magic u32, version u16, type u16, id u32, flags u32, body length u64, body | nothing
// (flag 1: the body is in the last descriptor). Integers are little-endian; text = length u32, bytes; list =
// count u32, items.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/unique_fd.h"

namespace forkpoint::sandbox {

inline constexpr std::uint16_t kWireVersion = 1;
inline constexpr std::size_t kWireBodyBytesMax = std::size_t{96} << 20;
inline constexpr std::size_t kWireFdsMax = 16;

enum class MessageType : std::uint16_t {
  hello = 1,  // both ways on a new connection
  failed,     // the answer to anything: an Error
  done,       // the answer where there is nothing to say
  // client to launcher
  create,         // policy -> created
  fork,           // snapshot -> created
  snapshot,       // sandbox, blob -> snapshot_taken
  release,        // snapshot; no answer
  destroy,        // sandbox -> done
  changed_files,  // sandbox, since -> done with a list
  tree_hash,      // sandbox, options -> done with a hash
  created,
  snapshot_taken,
  // client to init
  exec,  // action -> exec_done
  exec_done,
  open,       // path, flags -> done with a descriptor
  list,       // folder -> done with entries
  processes,  // -> done with a list
  quiesce,    // -> done with blob and what is in the way
  // launcher to init, and back
  start,  // limits, environment, state -> ready
  ready,
  measure_disk,  // init asks -> disk_usage
  disk_usage,
};

struct Message {
  MessageType type = MessageType::done;
  std::uint32_t id = 0;
  std::string body = {};
  std::vector<core::UniqueFd> fds = {};
};

// Builds a body.
class Writer {
 public:
  Writer& u8(std::uint8_t value) { return raw(&value, sizeof value); }
  Writer& u32(std::uint32_t value) { return raw(&value, sizeof value); }
  Writer& u64(std::uint64_t value) { return raw(&value, sizeof value); }
  Writer& i64(std::int64_t value) { return raw(&value, sizeof value); }
  Writer& f64(double value) { return raw(&value, sizeof value); }
  Writer& boolean(bool value) { return u8(value ? 1 : 0); }
  Writer& text(std::string_view value) {
    u32(static_cast<std::uint32_t>(value.size()));
    return raw(value.data(), value.size());
  }
  std::string take() { return std::move(bytes_); }

 private:
  Writer& raw(const void* data, std::size_t size) {
    bytes_.append(static_cast<const char*>(data), size);
    return *this;
  }
  std::string bytes_;
};

// Takes a body apart. After the first field that is not there everything is zero or empty, and ok() is false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::uint8_t u8() { return number<std::uint8_t>(); }
  std::uint32_t u32() { return number<std::uint32_t>(); }
  std::uint64_t u64() { return number<std::uint64_t>(); }
  std::int64_t i64() { return number<std::int64_t>(); }
  double f64() { return number<double>(); }
  bool boolean() { return u8() != 0; }
  std::string text();
  // The length of a list whose items take at least `item_bytes_min` each.
  std::uint32_t count(std::size_t item_bytes_min);

  bool ok() const { return ok_; }
  // Everything was there, and nothing is left.
  bool complete() const { return ok_ && rest_.empty(); }

 private:
  template <class T>
  T number() {
    T value{};
    if (rest_.size() < sizeof value) {
      fail();
      return value;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  void fail() {
    ok_ = false;
    rest_ = {};
  }

  std::string_view rest_;
  bool ok_ = true;
};

// `fds`: descriptors to pass along, not owned. Error `peer_gone` (Fault::transient) where the other end is
// closed.
Result<void> send_message(int socket, MessageType type, std::uint32_t id, std::string_view body,
                          const std::vector<int>& fds = {});

// Waits for the next message; nothing where the other end has closed. Errors: `bad_message` (not ours,
// another version, too long, cut off).
Result<std::optional<Message>> receive_message(int socket);

// Errors across the wire.
std::string encode_error(const Error& error);
Error decode_error(std::string_view body);

// The error for a body that could not be taken apart.
Error bad_body(MessageType type);

struct SocketPair {
  core::UniqueFd ours;
  core::UniqueFd theirs;
};
Result<SocketPair> make_socket_pair();

// A sealed memory file that holds `bytes`, at offset 0.
Result<core::UniqueFd> make_memory_file(const char* name, std::string_view bytes);

}  // namespace forkpoint::sandbox
