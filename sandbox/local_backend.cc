#include "sandbox/local_backend.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <mutex>

#include "core/file.h"
#include "sandbox/exec_wire.h"
#include "sandbox/failure.h"
#include "sandbox/launcher_connection.h"
#include "sandbox/policy_wire.h"

namespace forkpoint::sandbox {
namespace {

namespace fs = std::filesystem;

// How much longer than an action's own limit its end may take before the sandbox counts as lost.
constexpr double kGraceS = 30;

using ConnectionRef = std::shared_ptr<LauncherConnection>;

class LocalSnapshot final : public Snapshot {
 public:
  LocalSnapshot(ConnectionRef connection, std::string id, std::size_t layers, SandboxPolicy policy)
      : connection_(std::move(connection)), id_(std::move(id)), layers_(layers), policy_(std::move(policy)) {}
  ~LocalSnapshot() override { connection_->tell(MessageType::release, Writer().text(id_).take()); }

  std::string id() const override { return id_; }
  std::size_t layers() const override { return layers_; }
  const SandboxPolicy& policy() const { return policy_; }
  const LauncherConnection* connection() const { return connection_.get(); }

 private:
  ConnectionRef connection_;
  std::string id_;
  std::size_t layers_;
  SandboxPolicy policy_;
};

// Only a snapshot of the same launcher means something to it.
Result<const LocalSnapshot*> own_snapshot(const SnapshotRef& snapshot, const LauncherConnection* connection) {
  const auto* local = dynamic_cast<const LocalSnapshot*>(snapshot.get());
  if (local == nullptr || local->connection() != connection) {
    return input_error("no_such_snapshot", "the snapshot is not of this backend");
  }
  return local;
}

class LocalSandbox final : public Sandbox {
 public:
  LocalSandbox(ConnectionRef connection, std::string id, Level level, SandboxPolicy policy,
               std::string workspace, core::UniqueFd init)
      : connection_(std::move(connection)),
        id_(std::move(id)),
        level_(level),
        policy_(std::move(policy)),
        workspace_(std::move(workspace)),
        init_(std::move(init)) {}
  ~LocalSandbox() override { (void)close(); }

  std::string id() const override { return id_; }
  Level level() const override { return level_; }
  std::string workspace() const override { return workspace_; }

  Result<ExecResult> run(std::string_view command, const ExecOptions& options) override {
    if (command.size() > kCommandBytesMax) {
      return input_error("command_too_long", "a command of " + std::to_string(command.size()) +
                                                 " bytes; at most " + std::to_string(kCommandBytesMax) +
                                                 " are taken (write a file and run it)");
    }
    if (command.find('\0') != std::string_view::npos)
      return input_error("bad_command", "the command contains a NUL byte");
    ActionRequest request;
    request.command = command;
    return act(std::move(request), options);
  }

  Result<ExecResult> exec(const std::vector<std::string>& arguments, const ExecOptions& options) override {
    std::size_t bytes = 0;
    for (const std::string& argument : arguments) {
      bytes += argument.size();
      if (argument.find('\0') != std::string::npos)
        return input_error("bad_command", "an argument contains a NUL byte");
    }
    if (arguments.empty() || arguments.front().empty())
      return input_error("bad_command", "no program is named");
    if (bytes > kCommandBytesMax) {
      return input_error("command_too_long", "arguments of " + std::to_string(bytes) + " bytes; at most " +
                                                 std::to_string(kCommandBytesMax) + " are taken");
    }
    ActionRequest request;
    request.shell = false;
    request.arguments = arguments;
    return act(std::move(request), options);
  }

  Result<std::string> read_file(std::string_view path, std::uint64_t bytes_max) override {
    FORKPOINT_ASSIGN_OR_RETURN(Message message, open_file(path, false, 0));
    Reader reader(message.body);
    const std::uint64_t size = reader.u64();
    if (size > bytes_max) {
      return input_error("file_too_large", "'" + std::string(path) + "' has " + std::to_string(size) +
                                               " bytes; at most " + std::to_string(bytes_max) + " are read");
    }
    std::string bytes;
    char buffer[std::size_t{64} << 10];
    for (;;) {
      const ssize_t count = ::read(message.fds.front().get(), buffer, sizeof buffer);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0)
        return core::system_error(errno, "file_failed", "'" + std::string(path) + "' can't be read");
      if (count == 0) return bytes;
      bytes.append(buffer, static_cast<std::size_t>(count));
      if (bytes.size() > bytes_max)
        return input_error("file_too_large", "'" + std::string(path) + "' grows while it is read");
    }
  }

  Result<void> write_file(std::string_view path, std::string_view bytes, std::uint32_t mode) override {
    FORKPOINT_ASSIGN_OR_RETURN(const Message message, open_file(path, true, mode & 07777));
    return core::write_all(message.fds.front().get(), bytes, std::string(path));
  }

  Result<std::vector<FolderEntry>> list_folder(std::string_view path, std::size_t entries_max) override {
    FORKPOINT_RETURN_IF_ERROR(check_path(path));
    FORKPOINT_ASSIGN_OR_RETURN(const Message message,
                               call(MessageType::list, Writer().text(path).u64(entries_max).take()));
    Reader reader(message.body);
    std::vector<FolderEntry> entries(reader.count(2 * sizeof(std::uint32_t)));
    for (FolderEntry& entry : entries) {
      entry.name = reader.text();
      const std::uint32_t mode = reader.u32();
      entry.type = type_of(mode);
      entry.mode = mode & 07777;
      entry.size_bytes = reader.u64();
    }
    if (!reader.complete()) return bad_body(MessageType::list);
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return entries;
  }

  Result<std::vector<BackgroundProcess>> processes() override {
    FORKPOINT_ASSIGN_OR_RETURN(const Message message, call(MessageType::processes, ""));
    Reader reader(message.body);
    auto processes = decode_processes(reader);
    if (!reader.complete()) return bad_body(MessageType::processes);
    return processes;
  }

  Result<SnapshotRef> snapshot() override {
    const std::lock_guard lock(mutex_);
    if (policy_.shell == ShellMode::persistent) {
      return input_error(
          "not_forkable",
          "a sandbox with a persistent shell can't be snapshotted: its shell is a live process");
    }
    FORKPOINT_RETURN_IF_ERROR(check_open());
    FORKPOINT_ASSIGN_OR_RETURN(const Message quiet,
                               call_once(init_.get(), MessageType::quiesce, ++calls_, ""));
    Reader state(quiet.body);
    const std::string in_the_way = state.text();
    const std::string shell_state = state.text();
    const std::uint64_t disk_bytes = state.u64();
    if (!state.complete()) return bad_body(MessageType::quiesce);
    if (!in_the_way.empty()) {
      Error error =
          input_error("not_quiet", "the sandbox can't be snapshotted while this lives: " + in_the_way);
      error.advice = "end background processes (kill, or their own way) and empty /dev/shm first";
      return error;
    }
    Writer body;
    body.text(id_).text(shell_state).u64(disk_bytes);
    auto taken = connection_->call(MessageType::snapshot, body.take());
    if (!taken) return taken.error();
    if (!taken->fds.empty()) init_ = std::move(taken->fds.front());  // else the same init goes on
    Reader reader(taken->body);
    std::string snapshot_id = reader.text();
    const auto layers = static_cast<std::size_t>(reader.u64());
    return SnapshotRef(std::make_shared<LocalSnapshot>(connection_, std::move(snapshot_id), layers, policy_));
  }

  Result<std::vector<ChangedFile>> changed_files(const SnapshotRef& since) override {
    const std::lock_guard lock(mutex_);
    FORKPOINT_RETURN_IF_ERROR(check_open());
    std::string since_id;
    if (since) {
      FORKPOINT_ASSIGN_OR_RETURN(const LocalSnapshot* local, own_snapshot(since, connection_.get()));
      since_id = local->id();
    }
    FORKPOINT_ASSIGN_OR_RETURN(
        const Message message,
        connection_->call(MessageType::changed_files, Writer().text(id_).text(since_id).take()));
    Reader reader(message.body);
    std::vector<ChangedFile> files(reader.count(sizeof(std::uint32_t) * 2));
    for (ChangedFile& file : files) {
      file.path = reader.text();
      file.kind = static_cast<ChangeKind>(reader.u8());
      file.type = static_cast<char>(reader.u8());
      file.mode = reader.u32();
    }
    if (!reader.complete()) return bad_body(MessageType::changed_files);
    return files;
  }

  Result<std::string> tree_hash(const TreeHashOptions& options) override {
    const std::lock_guard lock(mutex_);
    FORKPOINT_RETURN_IF_ERROR(check_open());
    Writer body;
    body.text(id_).text(options.root).u32(static_cast<std::uint32_t>(options.leave_out.size()));
    for (const std::string& pattern : options.leave_out) body.text(pattern);
    FORKPOINT_ASSIGN_OR_RETURN(const Message message, connection_->call(MessageType::tree_hash, body.take()));
    Reader reader(message.body);
    std::string hash = reader.text();
    if (!reader.complete()) return bad_body(MessageType::tree_hash);
    return hash;
  }

  Result<void> close() override {
    const std::lock_guard lock(mutex_);
    if (!init_) return {};
    init_.reset();
    const auto done = connection_->call(MessageType::destroy, Writer().text(id_).take());
    if (!done) return done.error();
    return {};
  }

 private:
  static char type_of(std::uint32_t mode) {
    switch (mode & S_IFMT) {
      case S_IFDIR: return 'd';
      case S_IFLNK: return 'l';
      case S_IFIFO: return 'p';
      case S_IFSOCK: return 's';
      case S_IFCHR: return 'c';
      case S_IFBLK: return 'b';
      default: return 'f';
    }
  }

  static Result<void> check_path(std::string_view path) {
    if (path.empty() || path.find('\0') != std::string_view::npos)
      return input_error("bad_path", "a path is empty or contains a NUL byte");
    return {};
  }

  Result<void> check_open() const {
    if (!init_) return sandbox_lost("the sandbox was closed");
    return {};
  }

  Result<Message> call(MessageType type, const std::string& body) {
    const std::lock_guard lock(mutex_);
    FORKPOINT_RETURN_IF_ERROR(check_open());
    return call_once(init_.get(), type, ++calls_, body);
  }

  Result<Message> open_file(std::string_view path, bool writing, std::uint32_t mode) {
    FORKPOINT_RETURN_IF_ERROR(check_path(path));
    FORKPOINT_ASSIGN_OR_RETURN(
        Message message, call(MessageType::open, Writer().text(path).boolean(writing).u32(mode).take()));
    if (message.fds.empty()) return bad_body(MessageType::open);
    return message;
  }

  // The narrower of the policy's limit and what was asked for.
  static double narrower(double policy, const std::optional<double>& asked) {
    return asked ? std::min(policy, *asked) : policy;
  }

  Result<ExecResult> act(ActionRequest request, const ExecOptions& options) {
    const Limits& limits = policy_.limits;
    for (const auto& limit : {options.wall_s_max, options.cpu_time_s_max}) {
      if (limit && !(std::isfinite(*limit) && *limit > 0)) {
        return input_error("bad_limit",
                           "an action's time limit can't be " + std::to_string(*limit) + " seconds");
      }
    }
    if (options.output_bytes_max == 0U)
      return input_error("bad_limit", "an action's output limit can't be 0 bytes");
    if (options.cwd.find('\0') != std::string::npos)
      return input_error("bad_path", "a path contains a NUL byte");
    FORKPOINT_RETURN_IF_ERROR(check_environment(options.environment));
    request.stdin_bytes = options.stdin_bytes;
    request.environment = options.environment;
    request.cwd = options.cwd;
    request.wall_s_max = narrower(limits.wall_s_max, options.wall_s_max);
    request.cpu_time_s_max = narrower(limits.cpu_time_s_max, options.cpu_time_s_max);
    request.output_bytes_max =
        std::min(limits.output_bytes_max, options.output_bytes_max.value_or(limits.output_bytes_max));
    request.separate_output = options.separate_output;

    const std::lock_guard lock(mutex_);
    FORKPOINT_RETURN_IF_ERROR(check_open());
    if (const auto sent = send_message(init_.get(), MessageType::exec, ++calls_, encode(request)); !sent)
      return lost(sent.error());
    pollfd waiting{init_.get(), POLLIN, 0};
    const auto wait_ms = static_cast<int>(std::min(2e9, (request.wall_s_max + kGraceS) * 1e3));
    int ready = 0;
    do {
      ready = poll(&waiting, 1, wait_ms);
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) {
      init_.reset();
      (void)connection_->call(MessageType::destroy, Writer().text(id_).take());
      return sandbox_lost("the sandbox did not answer long after the action's time limit");
    }
    const auto message = receive_message(init_.get());
    if (!message) return lost(message.error());
    if (!message->has_value()) return sandbox_lost("the sandbox is gone");
    if ((*message)->type == MessageType::failed) return decode_error((*message)->body);
    auto result = decode_exec_result((*message)->body);
    if (!result) return bad_body(MessageType::exec_done);
    return std::move(*result);
  }

  static Error lost(const Error& error) {
    return error.code == "peer_gone" ? sandbox_lost("the sandbox is gone") : error;
  }

  ConnectionRef connection_;
  std::string id_;
  Level level_;
  SandboxPolicy policy_;
  std::string workspace_;
  std::mutex mutex_;  // guards what follows
  core::UniqueFd init_;
  std::uint32_t calls_ = 0;
};

class LocalBackendImpl final : public LocalBackend {
 public:
  LocalBackendImpl(ConnectionRef connection, Level level, std::vector<MachineFeature> features)
      : connection_(std::move(connection)), level_(level), features_(std::move(features)) {}

  Level level() const override { return level_; }
  const std::vector<MachineFeature>& features() const override { return features_; }
  int launcher_pid() const override { return connection_->pid(); }

  Result<std::unique_ptr<Sandbox>> create(const SandboxPolicy& policy) override {
    FORKPOINT_RETURN_IF_ERROR(check_policy(policy));
    if (policy.level_min > level_) return level_too_low(policy.level_min);
    SandboxPolicy absolute = policy;
    std::error_code ignored;
    if (!absolute.workspace.empty())
      absolute.workspace = fs::absolute(absolute.workspace, ignored).lexically_normal().string();
    const std::size_t colon = absolute.image.find(':');
    const bool prefixed = absolute.image.starts_with("oci:") || absolute.image.starts_with("archive:");
    const std::string prefix = prefixed ? absolute.image.substr(0, colon + 1) : "";
    if (absolute.image != "host") {
      absolute.image =
          prefix + fs::absolute(absolute.image.substr(prefix.size()), ignored).lexically_normal().string();
    }
    Writer body;
    encode_policy(body, absolute);
    return opened(connection_->call(MessageType::create, body.take()), absolute);
  }

  Result<std::unique_ptr<Sandbox>> fork(const SnapshotRef& snapshot) override {
    FORKPOINT_ASSIGN_OR_RETURN(const LocalSnapshot* local, own_snapshot(snapshot, connection_.get()));
    return opened(connection_->call(MessageType::fork, Writer().text(local->id()).take()), local->policy());
  }

 private:
  Error level_too_low(Level wanted) const {
    Error error{.boundary = Boundary::sandbox,
                .fault = Fault::host,
                .code = "level_too_low",
                .message = "the policy demands isolation level " + std::string(to_string(wanted)) +
                           ", this machine gives " + std::string(to_string(level_))};
    for (const MachineFeature& feature : features_) {
      if (!feature.advice.empty()) error.advice += (error.advice.empty() ? "" : "; ") + feature.advice;
    }
    return error;
  }

  Result<std::unique_ptr<Sandbox>> opened(Result<Message> created, const SandboxPolicy& policy) {
    if (!created) return created.error();
    if (created->fds.empty()) return bad_body(MessageType::created);
    Reader reader(created->body);
    std::string id = reader.text();
    std::string workspace = reader.text();
    if (!reader.complete()) return bad_body(MessageType::created);
    return std::unique_ptr<Sandbox>(std::make_unique<LocalSandbox>(
        connection_, std::move(id), level_, policy, std::move(workspace), std::move(created->fds.front())));
  }

  ConnectionRef connection_;
  Level level_;
  std::vector<MachineFeature> features_;
};

fs::path programs_folder(const LocalBackendOptions& options) {
  if (!options.programs.empty()) return options.programs;
  if (const char* libexec = std::getenv("FORKPOINT_LIBEXEC")) return libexec;
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

std::vector<std::string> state_bases(const LocalBackendOptions& options) {
  if (!options.state.empty()) return {options.state.string()};
  if (const char* state = std::getenv("FORKPOINT_STATE")) return {state};
  const std::string name = "forkpoint-" + std::to_string(getuid());
  return {"/var/tmp/" + name, "/dev/shm/" + name};
}

}  // namespace

Result<std::shared_ptr<LocalBackend>> LocalBackend::start(const LocalBackendOptions& options) {
  const fs::path programs = programs_folder(options);
  FORKPOINT_ASSIGN_OR_RETURN(SocketPair sockets, make_socket_pair());
  std::vector<std::string> arguments = {std::string(to_string(options.level_max)),
                                        (programs / "forkpoint-init").string()};
  for (const std::string& base : state_bases(options)) arguments.push_back(base);
  auto process = core::ChildProcess::start(programs / "forkpoint-sandboxd", arguments, sockets.theirs.get());
  if (!process) {
    Error error = std::move(process.error());
    error.boundary = Boundary::sandbox;
    error.advice =
        "forkpoint-sandboxd and forkpoint-init belong beside the program, or where FORKPOINT_LIBEXEC says";
    return error;
  }
  sockets.theirs.reset();
  FORKPOINT_ASSIGN_OR_RETURN(const auto hello, receive_message(sockets.ours.get()));
  if (!hello) return sandbox_lost("the launcher died at once");
  if (hello->type == MessageType::failed) return decode_error(hello->body);
  Reader reader(hello->body);
  const auto level = static_cast<Level>(reader.u8());
  (void)reader.u64();
  std::vector<MachineFeature> features(reader.count(3 * sizeof(std::uint32_t)));
  for (MachineFeature& feature : features) {
    feature.name = reader.text();
    feature.ok = reader.boolean();
    feature.detail = reader.text();
    feature.advice = reader.text();
  }
  if (!reader.complete()) return bad_body(MessageType::hello);
  auto connection = std::make_shared<LauncherConnection>(std::move(*process), std::move(sockets.ours));
  return std::shared_ptr<LocalBackend>(
      std::make_shared<LocalBackendImpl>(std::move(connection), level, std::move(features)));
}

}  // namespace forkpoint::sandbox
