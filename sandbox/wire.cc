#include "sandbox/wire.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "core/file.h"

namespace forkpoint::sandbox {
namespace {

constexpr std::uint32_t kMagic = 0x4b504b46;  // "FKPK"
constexpr std::uint32_t kBodyInMemoryFile = 1;
// Below the smallest default send buffer, with room for the header.
constexpr std::size_t kPacketBodyBytesMax = std::size_t{60} << 10;

struct Header {
  std::uint32_t magic = kMagic;
  std::uint16_t version = kWireVersion;
  std::uint16_t type = 0;
  std::uint32_t id = 0;
  std::uint32_t flags = 0;
  std::uint64_t body_bytes = 0;
};

Error bad_message(const std::string& what) {
  return {
      .boundary = Boundary::sandbox, .code = "bad_message", .message = "a message of another kind: " + what};
}

Error socket_error(std::string what) {
  if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN) {
    return {.boundary = Boundary::sandbox,
            .fault = Fault::transient,
            .code = "peer_gone",
            .message = "the process at the other end is gone"};
  }
  Error error = core::system_error(errno, "socket_failed", std::move(what));
  error.boundary = Boundary::sandbox;
  return error;
}

Result<std::string> read_memory_file(int fd, std::uint64_t size) {
  struct stat status {};
  if (fstat(fd, &status) != 0 || static_cast<std::uint64_t>(status.st_size) != size) {
    return bad_message("its body is not as long as it says");
  }
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t count = pread(fd, bytes.data() + done, size - done, static_cast<off_t>(done));
    if (count <= 0) return bad_message("its body can't be read");
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

std::vector<core::UniqueFd> take_fds(msghdr& message) {
  std::vector<core::UniqueFd> fds;
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr;
       control = CMSG_NXTHDR(&message, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(control) + i * sizeof fd, sizeof fd);
      fds.emplace_back(fd);
    }
  }
  return fds;
}

}  // namespace

std::string Reader::text() {
  const std::uint32_t size = u32();
  if (!ok_ || rest_.size() < size) {
    fail();
    return {};
  }
  std::string value(rest_.substr(0, size));
  rest_.remove_prefix(size);
  return value;
}

std::uint32_t Reader::count(std::size_t item_bytes_min) {
  const std::uint32_t value = u32();
  if (!ok_ || value > rest_.size() / item_bytes_min) {
    fail();
    return 0;
  }
  return value;
}

Result<core::UniqueFd> make_memory_file(const char* name, std::string_view bytes) {
  core::UniqueFd fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return socket_error("a memory file can't be made");
  FORKPOINT_RETURN_IF_ERROR(core::write_all(fd.get(), bytes, name));
  lseek(fd.get(), 0, SEEK_SET);
  fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  return fd;
}

Result<void> send_message(int socket, MessageType type, std::uint32_t id, std::string_view body,
                          const std::vector<int>& fds) {
  if (body.size() > kWireBodyBytesMax || fds.size() >= kWireFdsMax) return bad_message("too long to send");
  Header header{.type = static_cast<std::uint16_t>(type), .id = id, .body_bytes = body.size()};
  std::vector<int> all_fds = fds;
  core::UniqueFd body_file;
  if (body.size() > kPacketBodyBytesMax) {
    FORKPOINT_ASSIGN_OR_RETURN(body_file, make_memory_file("forkpoint-body", body));
    all_fds.push_back(body_file.get());
    header.flags |= kBodyInMemoryFile;
    body = {};
  }
  iovec parts[2] = {{&header, sizeof header}, {const_cast<char*>(body.data()), body.size()}};
  alignas(cmsghdr) char control[CMSG_SPACE(kWireFdsMax * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  if (!all_fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(all_fds.size() * sizeof(int));
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(all_fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(rights), all_fds.data(), all_fds.size() * sizeof(int));
  }
  ssize_t sent = -1;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return socket_error("a message can't be sent");
  return {};
}

Result<std::optional<Message>> receive_message(int socket) {
  Header header;
  std::string body(kPacketBodyBytesMax, '\0');
  iovec parts[2] = {{&header, sizeof header}, {body.data(), body.size()}};
  alignas(cmsghdr) char control[CMSG_SPACE(kWireFdsMax * sizeof(int))];
  msghdr packet{};
  packet.msg_iov = parts;
  packet.msg_iovlen = 2;
  packet.msg_control = control;
  packet.msg_controllen = sizeof control;
  ssize_t count = -1;
  do {
    count = recvmsg(socket, &packet, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  if (count == 0) return std::optional<Message>();
  if (count < 0) {
    if (errno == ECONNRESET) return std::optional<Message>();
    return socket_error("a message can't be received");
  }
  Message message{.fds = take_fds(packet)};
  const auto size = static_cast<std::size_t>(count);
  if (size < sizeof header || header.magic != kMagic) return bad_message("not one of Forkpoint's");
  if (header.version != kWireVersion) {
    return bad_message("version " + std::to_string(header.version) + ", this is " +
                       std::to_string(kWireVersion));
  }
  if ((packet.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) return bad_message("too long");
  if (header.body_bytes > kWireBodyBytesMax) return bad_message("its body would be too long");
  message.type = static_cast<MessageType>(header.type);
  message.id = header.id;
  if ((header.flags & kBodyInMemoryFile) != 0) {
    if (message.fds.empty()) return bad_message("its body is missing");
    const core::UniqueFd file = std::move(message.fds.back());
    message.fds.pop_back();
    FORKPOINT_ASSIGN_OR_RETURN(message.body, read_memory_file(file.get(), header.body_bytes));
  } else {
    if (size != sizeof header + header.body_bytes) return bad_message("its body is not as long as it says");
    body.resize(header.body_bytes);
    message.body = std::move(body);
  }
  return std::optional<Message>(std::move(message));
}

std::string encode_error(const Error& error) {
  Writer body;
  body.u8(static_cast<std::uint8_t>(error.boundary)).u8(static_cast<std::uint8_t>(error.fault));
  body.text(error.code).text(error.message).text(error.advice);
  body.u32(static_cast<std::uint32_t>(error.context.size()));
  for (const std::string& line : error.context) body.text(line);
  return body.take();
}

Error decode_error(std::string_view body) {
  Reader reader(body);
  Error error;
  const std::uint8_t boundary = reader.u8();
  const std::uint8_t fault = reader.u8();
  error.boundary = boundary <= static_cast<std::uint8_t>(Boundary::system) ? static_cast<Boundary>(boundary)
                                                                           : Boundary::sandbox;
  error.fault =
      fault <= static_cast<std::uint8_t>(Fault::interrupted) ? static_cast<Fault>(fault) : Fault::work;
  error.code = reader.text();
  error.message = reader.text();
  error.advice = reader.text();
  for (std::uint32_t left = reader.count(sizeof(std::uint32_t)); left > 0; --left) {
    error.context.push_back(reader.text());
  }
  if (!reader.complete()) return bad_body(MessageType::failed);
  return error;
}

Error bad_body(MessageType type) {
  return bad_message("the body of type " + std::to_string(static_cast<int>(type)) + " can't be read");
}

Result<SocketPair> make_socket_pair() {
  int fds[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) return socket_error("no socket pair");
  return SocketPair{core::UniqueFd(fds[0]), core::UniqueFd(fds[1])};
}

}  // namespace forkpoint::sandbox
