#include "sandbox/launcher/server.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "sandbox/changed_files.h"
#include "sandbox/failure.h"
#include "sandbox/image.h"
#include "sandbox/inside_path.h"
#include "sandbox/launcher/overlay.h"
#include "sandbox/policy_wire.h"
#include "sandbox/tree_hash.h"

namespace forkpoint::sandbox {
namespace {

namespace fs = std::filesystem;

Error gone(std::string what) {
  return {.boundary = Boundary::sandbox,
          .fault = Fault::transient,
          .code = "sandbox_lost",
          .message = std::move(what)};
}

// The volume that holds `path`, and the path below its mount point.
template <class Volumes>
std::pair<const typename Volumes::value_type*, std::string> volume_of(const Volumes& volumes,
                                                                      const std::string& path) {
  const typename Volumes::value_type* best = nullptr;
  for (const auto& volume : volumes) {
    const std::string prefix = volume.mount_point == "/" ? "/" : volume.mount_point + "/";
    if (!(path + "/").starts_with(prefix)) continue;
    if (best == nullptr || volume.mount_point.size() > best->mount_point.size()) best = &volume;
  }
  if (best == nullptr) return {nullptr, ""};
  std::string rest = best->mount_point == "/" ? path : path.substr(best->mount_point.size());
  rest.erase(0, rest.find_first_not_of('/') == std::string::npos ? rest.size() : rest.find_first_not_of('/'));
  while (rest.ends_with('/')) rest.pop_back();
  return {best, rest};
}

bool must_be_unpacked(const std::string& image) {
  return image.starts_with("oci:") || image.starts_with("archive:");
}

Result<void> check_folder(const std::string& path, const char* what) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    return input_error(
        std::string("no_such_") + what,
        std::string(what) + " '" + path + "' does not exist, or can't be reached by the launcher");
  }
  if (!S_ISDIR(status.st_mode))
    return input_error(std::string("bad_") + what, std::string(what) + " '" + path + "' is not a folder");
  return {};
}

}  // namespace

void Server::run() {
  for (;;) {
    std::vector<pollfd> fds = {{client_, POLLIN, 0}};
    std::vector<std::string> ids;
    for (const auto& [id, slot] : slots_) {
      fds.push_back({slot.sandbox->control(), POLLIN, 0});
      ids.push_back(id);
    }
    for (const Worker& worker : workers_) fds.push_back({worker.answers.get(), POLLIN, 0});
    if (poll(fds.data(), fds.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    const std::size_t first_worker = 1 + ids.size();
    for (std::size_t i = fds.size(); i-- > first_worker;) {
      if (fds[i].revents != 0) hear_worker(i - first_worker);
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (fds[i + 1].revents != 0) hear_init(ids[i]);
    }
    if (fds[0].revents == 0) continue;
    auto message = receive_message(client_);
    if (!message || !message->has_value()) return;
    handle(**message);
  }
}

void Server::answer(std::uint32_t request, MessageType type, const std::string& body,
                    const std::vector<int>& fds) {
  (void)send_message(client_, type, request, body, fds);
}

void Server::handle(const Message& message) {
  if (const auto done = dispatch(message); !done) refuse(message.id, done.error());
}

Result<void> Server::dispatch(const Message& message) {
  switch (message.type) {
    case MessageType::create: return create(message);
    case MessageType::fork: return fork_snapshot(message);
    case MessageType::snapshot: return take_snapshot(message);
    case MessageType::destroy: return destroy(message);
    case MessageType::changed_files: return find_changes(message);
    case MessageType::tree_hash: return hash_tree(message);
    case MessageType::release: {
      Reader reader(message.body);
      snapshots_.erase(reader.text());
      return {};
    }
    default: return bad_body(message.type);
  }
}

Result<Server::Slot*> Server::find_slot(const std::string& id) {
  const auto found = slots_.find(id);
  if (found == slots_.end() || !found->second.ready) return gone("sandbox " + id + " is gone");
  return &found->second;
}

Result<const SandboxState*> Server::find_snapshot(const std::string& id) {
  const auto found = snapshots_.find(id);
  if (found == snapshots_.end())
    return input_error("no_such_snapshot", "snapshot " + id + " is not of this launcher, or was released");
  return &found->second;
}

Result<void> Server::create(const Message& message) {
  Reader reader(message.body);
  const SandboxPolicy policy = decode_policy(reader);
  if (!reader.complete()) return bad_body(message.type);
  FORKPOINT_RETURN_IF_ERROR(check_policy(policy));
  if (!policy.workspace.empty()) FORKPOINT_RETURN_IF_ERROR(check_folder(policy.workspace, "workspace"));
  if (machine_.level() == Level::l1) return create_in_folders(message.id, policy);
  const auto start_with = [this, policy,
                           request = message.id](const std::vector<fs::path>& unpacked) -> Result<void> {
    FORKPOINT_ASSIGN_OR_RETURN(const std::vector<VolumeStack> volumes, machine_.volumes_of(policy, unpacked));
    SandboxState state{.policy = policy, .volumes = volumes, .origin = volumes, .shell_state = {}};
    return start_sandbox(request, std::move(state));
  };
  if (!must_be_unpacked(policy.image)) {
    if (policy.image != "host") FORKPOINT_RETURN_IF_ERROR(check_folder(policy.image, "image"));
    return start_with({});
  }
  const UnpackOptions options{.store = machine_.state().path().parent_path() / "images",
                              .xattrs = xattrs_of(machine_.level()),
                              .uid_base = machine_.owner()};
  const auto unpack = [image = policy.image, options]() -> Answer {
    const std::size_t colon = image.find(':');
    const fs::path source = image.substr(colon + 1);
    const auto unpacked =
        image.starts_with("oci:") ? open_oci_layout(source, options) : open_archive(source, options);
    if (!unpacked) return {MessageType::failed, encode_error(unpacked.error())};
    Writer body;
    body.u32(static_cast<std::uint32_t>(unpacked->layers.size()));
    for (const fs::path& layer : unpacked->layers) body.text(layer.string());
    return {MessageType::done, body.take()};
  };
  return start_worker(unpack, [this, start_with, request = message.id](const Message& result) {
    if (result.type != MessageType::done) return answer(request, result.type, result.body);
    Reader layers(result.body);
    std::vector<fs::path> unpacked(layers.count(sizeof(std::uint32_t)));
    for (fs::path& layer : unpacked) layer = layers.text();
    if (const auto started = start_with(unpacked); !started) refuse(request, started.error());
  });
}

Result<void> Server::start_sandbox(std::uint32_t request, SandboxState state) {
  const std::string id = std::to_string(next_id_++);
  FORKPOINT_ASSIGN_OR_RETURN(auto sandbox, LiveSandbox::start(machine_, id, std::move(state)));
  slots_[id] =
      Slot{.sandbox = std::move(sandbox), .request = request, .answer = MessageType::created, .snapshot = {}};
  return {};
}

Result<void> Server::fork_snapshot(const Message& message) {
  Reader reader(message.body);
  FORKPOINT_ASSIGN_OR_RETURN(const SandboxState* snapshot, find_snapshot(reader.text()));
  SandboxState state = *snapshot;
  state.origin = state.volumes;
  if (machine_.level() == Level::l1) return start_in_folders(message.id, state);
  return start_sandbox(message.id, std::move(state));
}

Result<void> Server::take_snapshot(const Message& message) {
  Reader reader(message.body);
  const std::string id = reader.text();
  std::string shell_state = reader.text();
  const std::uint64_t disk_bytes = reader.u64();
  if (!reader.complete()) return bad_body(message.type);
  FORKPOINT_ASSIGN_OR_RETURN(Slot * slot, find_slot(id));
  if (slot->sandbox->tree()) {
    SandboxState state = slot->sandbox->state();
    state.shell_state = std::move(shell_state);
    state.disk_bytes = disk_bytes;
    return copy_snapshot(message.id, id, std::move(state));
  }
  auto frozen = slot->sandbox->freeze();
  if (!frozen) {
    if (frozen.error().code != "still_written") slots_.erase(id);
    return frozen.error();
  }
  frozen->shell_state = std::move(shell_state);
  frozen->disk_bytes = disk_bytes;
  const std::string snapshot = std::to_string(next_id_++);
  snapshots_[snapshot] = *frozen;
  slots_.erase(id);
  FORKPOINT_ASSIGN_OR_RETURN(auto sandbox, LiveSandbox::start(machine_, id, std::move(*frozen)));
  slots_[id] = Slot{.sandbox = std::move(sandbox),
                    .request = message.id,
                    .answer = MessageType::snapshot_taken,
                    .snapshot = snapshot};
  return {};
}

Result<void> Server::destroy(const Message& message) {
  Reader reader(message.body);
  slots_.erase(reader.text());
  answer(message.id, MessageType::done, "");
  return {};
}

void Server::report_start(Slot& slot) {
  slot.ready = true;
  Writer body;
  const core::UniqueFd client_end = slot.sandbox->take_client_end();
  if (slot.answer == MessageType::created) {
    body.text(slot.sandbox->id()).text(slot.sandbox->workspace());
  } else {
    std::size_t layers = 0;
    for (const VolumeStack& stack : slot.sandbox->state().volumes)
      layers = std::max(layers, stack.layers.size());
    body.text(slot.snapshot).u64(layers);
  }
  answer(slot.request, slot.answer, body.take(), {client_end.get()});
}

void Server::hear_init(const std::string& id) {
  const auto found = slots_.find(id);
  if (found == slots_.end()) return;
  Slot& slot = found->second;
  const auto message = receive_message(slot.sandbox->control());
  if (message && message->has_value()) {
    if ((*message)->type == MessageType::ready) return report_start(slot);
    if ((*message)->type == MessageType::measure_disk) return measure_disk(id);
  }
  // It failed, died, or talks nonsense. The client learns it by the end of its socket to init.
  if (!slot.ready) {
    const bool told = message && message->has_value() && (*message)->type == MessageType::failed;
    refuse(slot.request, told ? decode_error((*message)->body) : gone("a new sandbox died while it started"));
  }
  slots_.erase(found);
}

Result<void> Server::start_worker(std::function<Answer()> work, std::function<void(const Message&)> done) {
  FORKPOINT_ASSIGN_OR_RETURN(SocketPair sockets, make_socket_pair());
  const pid_t pid = fork();
  if (pid < 0) return core::system_error(errno, "no_worker", "a worker can't be started");
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // what it makes is nobody's once the launcher is gone
    const Answer result = work();
    (void)send_message(sockets.theirs.get(), result.type, 0, result.body);
    _exit(0);
  }
  workers_.push_back({std::move(sockets.ours), pid, std::move(done)});
  return {};
}

Result<void> Server::start_worker_for(std::uint32_t request, std::function<Answer()> work) {
  return start_worker(std::move(work),
                      [this, request](const Message& result) { answer(request, result.type, result.body); });
}

void Server::hear_worker(std::size_t index) {
  Worker worker = std::move(workers_[index]);
  workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(index));
  auto message = receive_message(worker.answers.get());
  waitpid(worker.pid, nullptr, 0);
  if (message && message->has_value()) return worker.done(**message);
  Message failed{.type = MessageType::failed};
  failed.body = encode_error(Error{
      .boundary = Boundary::sandbox, .code = "worker_died", .message = "a worker of the launcher died"});
  worker.done(failed);
}

void Server::measure_disk(const std::string& id) {
  std::vector<fs::path> folders;
  const auto& slot = slots_.at(id);
  const SandboxState& state = slot.sandbox->state();
  for (const auto& volume : slot.sandbox->folders()) folders.push_back(volume.now.front());
  if (!slot.sandbox->tree()) {  // at L1 its own folder holds all
    for (const VolumeStack& stack : state.volumes) {
      for (const LayerRef& layer : stack.layers) folders.push_back(layer->path());
    }
  }
  const auto measure = [folders, first = state.disk_bytes_first]() -> Answer {
    std::uint64_t bytes = 0;
    for (const fs::path& folder : folders) bytes += bytes_below(folder);
    return {MessageType::disk_usage, Writer().u64(bytes - std::min(bytes, first)).take()};
  };
  const auto started = start_worker(measure, [this, id](const Message& result) {
    const auto found = slots_.find(id);
    if (found != slots_.end())
      (void)send_message(found->second.sandbox->control(), result.type, 0, result.body);
  });
  if (!started) (void)send_message(slot.sandbox->control(), MessageType::failed, 0, "");
}

Result<void> Server::find_changes(const Message& message) {
  Reader reader(message.body);
  FORKPOINT_ASSIGN_OR_RETURN(const Slot* slot, find_slot(reader.text()));
  const std::string since = reader.text();
  auto volumes = slot->sandbox->folders();
  if (!since.empty()) {
    FORKPOINT_ASSIGN_OR_RETURN(const SandboxState* snapshot, find_snapshot(since));
    for (std::size_t i = 0; i < volumes.size(); ++i) volumes[i].origin = snapshot->volumes[i].folders();
  }
  const OverlayXattrs xattrs = xattrs_of(machine_.level());
  return start_worker_for(message.id, [volumes, xattrs]() -> Answer {
    std::vector<ChangedFile> all;
    for (const auto& volume : volumes) {
      const std::string prefix = volume.mount_point == "/" ? "" : volume.mount_point;
      auto changes =
          changed_files(OverlayView(volume.origin, xattrs), OverlayView(volume.now, xattrs), prefix);
      if (!changes) return {MessageType::failed, encode_error(changes.error())};
      all.insert(all.end(), changes->begin(), changes->end());
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    Writer body;
    body.u32(static_cast<std::uint32_t>(all.size()));
    for (const ChangedFile& file : all) {
      body.text(file.path)
          .u8(static_cast<std::uint8_t>(file.kind))
          .u8(static_cast<std::uint8_t>(file.type))
          .u32(file.mode);
    }
    return {MessageType::done, body.take()};
  });
}

Result<void> Server::hash_tree(const Message& message) {
  Reader reader(message.body);
  FORKPOINT_ASSIGN_OR_RETURN(const Slot* slot, find_slot(reader.text()));
  const std::string root = seen_path(reader.text(), slot->sandbox->root());
  std::vector<std::string> leave_out(reader.count(sizeof(std::uint32_t)));
  for (std::string& pattern : leave_out) pattern = reader.text();
  const auto volumes = slot->sandbox->folders();
  const auto [volume, below] = volume_of(volumes, root);
  if (volume == nullptr) return input_error("no_such_folder", "'" + root + "' is not an absolute path");
  const OverlayXattrs xattrs = xattrs_of(machine_.level());
  const fs::path cache = machine_.state().path() / "hashes";
  return start_worker_for(
      message.id, [folders = volume->now, below = below, leave_out, xattrs, cache]() -> Answer {
        const OverlayView view(folders, xattrs);
        const auto hash = tree_hash(view, {.below = below, .leave_out = leave_out, .cache_folder = cache});
        if (!hash) return {MessageType::failed, encode_error(hash.error())};
        return {MessageType::done, Writer().text(hash->to_hex()).take()};
      });
}

}  // namespace forkpoint::sandbox
