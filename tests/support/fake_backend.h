// FakeBackend: sandboxes that are a table of commands, for tests of what plays them.
//
//   FakeBackend backend;
//   backend.on("echo hi", prints("hi\n"));
//   backend.on("touch x", [](FakeState& state, const ExecOptions&) { state.files["/workspace/x"]; return
//   ended(0); }); auto sandbox = backend.create({}).value();
//
// State is files, cwd and processes; snapshots copy it, forks start from the copy. An unknown command ends
// with 127. Counts what lives, so that a test can show that nothing is left. Thread-safe; say what commands
// do before use.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/hash.h"
#include "sandbox/sandbox.h"

namespace forkpoint::tests {

struct FakeState {
  std::map<std::string, std::string> files;  // by absolute path; folders are what has files in it
  std::string cwd = sandbox::kWorkspacePath;
  std::vector<sandbox::BackgroundProcess> processes;
};

using FakeAction = std::function<Result<sandbox::ExecResult>(FakeState&, const sandbox::ExecOptions&)>;

inline sandbox::CapturedOutput captured(std::string bytes) {
  const std::uint64_t bytes_total = bytes.size();
  return {.head = std::move(bytes), .tail = {}, .bytes_total = bytes_total};
}

inline sandbox::ExecResult ended(int exit_code, std::string output = "") {
  sandbox::ExecResult result;
  result.exit_code = exit_code;
  result.output = captured(std::move(output));
  return result;
}

inline FakeAction prints(std::string output, int exit_code = 0) {
  return [=](FakeState&, const sandbox::ExecOptions&) { return ended(exit_code, output); };
}

inline Error fake_error(std::string code, Fault fault = Fault::input) {
  return Error{.boundary = Boundary::sandbox,
               .fault = fault,
               .code = std::move(code),
               .message = "it was scripted so"};
}

class FakeBackend final : public sandbox::Backend {
 public:
  explicit FakeBackend(sandbox::Level level = sandbox::Level::l3) : level_(level) {}

  void on(std::string command, FakeAction action) { actions_[std::move(command)] = std::move(action); }
  // From now on these calls are refused; nothing makes them work again.
  void refuse_create(Error error) { create_error_ = std::move(error); }
  void refuse_snapshot(Error error) { snapshot_error_ = std::move(error); }
  void refuse_close(Error error) { close_error_ = std::move(error); }

  int sandboxes_alive() const { return counts_->sandboxes_alive; }
  int snapshots_alive() const { return counts_->snapshots_alive; }
  int created() const { return counts_->created; }
  int forked() const { return counts_->forked; }
  int closed() const { return counts_->closed; }
  // Every command that was run or executed, in order.
  std::vector<std::string> commands() const {
    const std::lock_guard lock(mutex_);
    return commands_;
  }

  sandbox::Level level() const override { return level_; }
  Result<std::unique_ptr<sandbox::Sandbox>> create(const sandbox::SandboxPolicy& policy) override;
  Result<std::unique_ptr<sandbox::Sandbox>> fork(const sandbox::SnapshotRef& snapshot) override;

 private:
  friend class FakeSandbox;

  struct Counts {
    std::atomic<int> sandboxes_alive = 0;
    std::atomic<int> snapshots_alive = 0;
    std::atomic<int> created = 0;
    std::atomic<int> forked = 0;
    std::atomic<int> closed = 0;
  };

  Result<sandbox::ExecResult> act(const std::string& command, FakeState& state,
                                  const sandbox::ExecOptions& options) {
    {
      const std::lock_guard lock(mutex_);
      commands_.push_back(command);
    }
    const auto found = actions_.find(command);
    Result<sandbox::ExecResult> result = found == actions_.end()
                                             ? ended(127, command + ": command not found\n")
                                             : found->second(state, options);
    if (result) {
      result->cwd = state.cwd;
      result->background = state.processes;
      if (options.separate_output && !result->error_output) result->error_output = captured("");
    }
    return result;
  }

  sandbox::Level level_;
  std::map<std::string, FakeAction> actions_;
  std::optional<Error> create_error_;
  std::optional<Error> snapshot_error_;
  std::optional<Error> close_error_;
  std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
  mutable std::mutex mutex_;
  std::vector<std::string> commands_;
};

class FakeSnapshot final : public sandbox::Snapshot {
 public:
  FakeSnapshot(FakeState state, std::function<void()> on_end)
      : state_(std::move(state)), on_end_(std::move(on_end)) {}
  ~FakeSnapshot() override { on_end_(); }
  std::string id() const override { return "fake"; }
  std::size_t layers() const override { return 1; }
  const FakeState& state() const { return state_; }

 private:
  FakeState state_;
  std::function<void()> on_end_;
};

class FakeSandbox final : public sandbox::Sandbox {
 public:
  FakeSandbox(FakeBackend& backend, FakeState state)
      : backend_(backend), counts_(backend.counts_), state_(std::move(state)), origin_(state_.files) {
    ++counts_->sandboxes_alive;
  }
  ~FakeSandbox() override { --counts_->sandboxes_alive; }

  std::string id() const override { return "fake"; }
  sandbox::Level level() const override { return backend_.level_; }
  std::string workspace() const override { return sandbox::kWorkspacePath; }

  Result<sandbox::ExecResult> run(std::string_view command, const sandbox::ExecOptions& options) override {
    return backend_.act(std::string(command), state_, options);
  }

  Result<sandbox::ExecResult> exec(const std::vector<std::string>& arguments,
                                   const sandbox::ExecOptions& options) override {
    std::string line;
    for (const std::string& argument : arguments) line += (line.empty() ? "" : " ") + argument;
    return backend_.act(line, state_, options);
  }

  Result<std::string> read_file(std::string_view path, std::uint64_t) override {
    const auto found = state_.files.find(std::string(path));
    if (found == state_.files.end()) return fake_error("no_such_file");
    return found->second;
  }

  Result<void> write_file(std::string_view path, std::string_view bytes, std::uint32_t) override {
    if (path.starts_with("/proc/")) return fake_error("not_a_file");
    state_.files[std::string(path)] = bytes;
    return {};
  }

  Result<std::vector<sandbox::FolderEntry>> list_folder(std::string_view path, std::size_t) override {
    std::vector<sandbox::FolderEntry> entries;
    const std::string prefix = path == "/" ? "/" : std::string(path) + "/";
    for (const auto& [name, bytes] : state_.files) {
      if (!name.starts_with(prefix)) continue;
      entries.push_back({.name = name.substr(prefix.size(), name.find('/', prefix.size()) - prefix.size()),
                         .size_bytes = bytes.size()});
    }
    if (entries.empty()) return fake_error("no_such_file");
    return entries;
  }

  Result<std::vector<sandbox::BackgroundProcess>> processes() override { return state_.processes; }

  Result<sandbox::SnapshotRef> snapshot() override {
    if (backend_.snapshot_error_) return *backend_.snapshot_error_;
    if (!state_.processes.empty()) return fake_error("not_quiet");
    ++counts_->snapshots_alive;
    return std::make_shared<const FakeSnapshot>(state_, [counts = counts_] { --counts->snapshots_alive; });
  }

  Result<std::vector<sandbox::ChangedFile>> changed_files(const sandbox::SnapshotRef& since) override {
    const auto& before = since == nullptr ? origin_ : static_cast<const FakeSnapshot&>(*since).state().files;
    std::vector<sandbox::ChangedFile> changes;
    for (const auto& [path, bytes] : state_.files) {
      const auto found = before.find(path);
      if (found == before.end()) changes.push_back({.path = path, .kind = sandbox::ChangeKind::added});
      if (found != before.end() && found->second != bytes) changes.push_back({.path = path});
    }
    for (const auto& [path, bytes] : before) {
      if (!state_.files.contains(path))
        changes.push_back({.path = path, .kind = sandbox::ChangeKind::deleted});
    }
    std::sort(changes.begin(), changes.end(),
              [](const auto& one, const auto& other) { return one.path < other.path; });
    return changes;
  }

  Result<std::string> tree_hash(const sandbox::TreeHashOptions& options) override {
    core::Xxh3 hash;
    for (const auto& [path, bytes] : state_.files) {
      if (path.starts_with(options.root)) hash.update(path + '\0' + bytes + '\0');
    }
    return hash.digest().to_hex();
  }

  Result<void> close() override {
    ++counts_->closed;
    if (backend_.close_error_) return *backend_.close_error_;
    return {};
  }

 private:
  FakeBackend& backend_;
  std::shared_ptr<FakeBackend::Counts> counts_;
  FakeState state_;
  std::map<std::string, std::string> origin_;
};

inline Result<std::unique_ptr<sandbox::Sandbox>> FakeBackend::create(const sandbox::SandboxPolicy&) {
  if (create_error_) return *create_error_;
  ++counts_->created;
  return std::unique_ptr<sandbox::Sandbox>(std::make_unique<FakeSandbox>(*this, FakeState{}));
}

inline Result<std::unique_ptr<sandbox::Sandbox>> FakeBackend::fork(const sandbox::SnapshotRef& snapshot) {
  ++counts_->forked;
  return std::unique_ptr<sandbox::Sandbox>(
      std::make_unique<FakeSandbox>(*this, static_cast<const FakeSnapshot&>(*snapshot).state()));
}

}  // namespace forkpoint::tests
