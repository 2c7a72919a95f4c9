// What the server does otherwise at level L1: files are copied, by workers, before a sandbox can start and
// while it is snapshotted.
#include "sandbox/failure.h"
#include "sandbox/launcher/server.h"

namespace forkpoint::sandbox {
namespace {

// The one volume of a state at L1: a copy that never changes any more.
std::vector<VolumeStack> volumes_in(LayerRef copy) {
  std::vector<VolumeStack> volumes;
  volumes.push_back({.mount_point = "/", .layers = {std::move(copy)}, .base = {}});
  return volumes;
}

Error image_refused(const std::string& image) {
  return {.boundary = Boundary::sandbox,
          .fault = Fault::host,
          .code = "level_too_low",
          .message =
              "image '" + image + "' needs level L2 or L3: at L1 there is only the machine's own file system",
          .advice = "use --image host, or a machine with user namespaces ('forkpoint sandbox doctor')"};
}

}  // namespace

Result<LayerRef> Server::new_copy() {
  return LayerRef(
      std::make_shared<const Layer>(machine_.state().new_layer_path(), machine_.state(), machine_.janitor()));
}

Result<void> Server::create_in_folders(std::uint32_t request, const SandboxPolicy& policy) {
  if (policy.image != "host") return image_refused(policy.image);
  FORKPOINT_ASSIGN_OR_RETURN(const LayerRef first, new_copy());
  const auto copy = [path = first->path(), workspace = policy.workspace]() -> Answer {
    if (const auto made = make_first_state(path, workspace); !made)
      return {MessageType::failed, encode_error(made.error())};
    return {MessageType::done, Writer().u64(bytes_below(path)).take()};
  };
  return start_worker(copy, [this, request, policy, first](const Message& result) {
    if (result.type != MessageType::done) return answer(request, result.type, result.body);
    SandboxState state{
        .policy = policy, .volumes = volumes_in(first), .origin = volumes_in(first), .shell_state = {}};
    state.disk_bytes_first = Reader(result.body).u64();
    if (const auto started = start_in_folders(request, state); !started) refuse(request, started.error());
  });
}

Result<void> Server::start_in_folders(std::uint32_t request, const SandboxState& state) {
  const std::uint64_t number = next_id_++;
  FolderTree tree{.owner = machine_.users().user_of(number)};
  FORKPOINT_ASSIGN_OR_RETURN(tree.folder, machine_.state().make_live_folder());
  const auto copy = [tree, from = state.volumes.front().layers.front()->path()]() -> Answer {
    if (const auto made = make_folder_tree(tree, from); !made)
      return {MessageType::failed, encode_error(made.error())};
    return {};
  };
  return start_worker(copy, [this, request, state, tree, id = std::to_string(number)](const Message& result) {
    if (result.type != MessageType::done) {
      machine_.discard(tree.folder);
      return answer(request, result.type, result.body);
    }
    auto sandbox = LiveSandbox::start(machine_, id, state, tree);
    if (!sandbox) return refuse(request, sandbox.error());
    slots_[id] = Slot{
        .sandbox = std::move(*sandbox), .request = request, .answer = MessageType::created, .snapshot = {}};
  });
}

Result<void> Server::copy_snapshot(std::uint32_t request, const std::string& id, SandboxState state) {
  FORKPOINT_ASSIGN_OR_RETURN(const Slot* slot, find_slot(id));
  FORKPOINT_ASSIGN_OR_RETURN(const LayerRef layer, new_copy());
  state.root = slot->sandbox->root();
  state.volumes = volumes_in(layer);
  const auto copy = [tree = *slot->sandbox->tree(), path = layer->path()]() -> Answer {
    if (const auto made = copy_state(tree, path); !made)
      return {MessageType::failed, encode_error(made.error())};
    return {};
  };
  return start_worker(copy, [this, request, state](const Message& result) {
    if (result.type != MessageType::done) return answer(request, result.type, result.body);
    const std::string snapshot = std::to_string(next_id_++);
    snapshots_[snapshot] = state;
    answer(request, MessageType::snapshot_taken, Writer().text(snapshot).u64(1).take());
  });
}

}  // namespace forkpoint::sandbox
