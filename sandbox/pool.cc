#include "sandbox/pool.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace forkpoint::sandbox {

// Shared with the sandboxes that were handed out: each gives its place back here.
struct SandboxPool::State {
  State(std::shared_ptr<Backend> used, PoolOptions chosen)
      : backend(std::move(used)), options(std::move(chosen)) {
    options.live_max = std::max<std::size_t>(options.live_max, 1);
    options.warm = std::min(options.warm, options.live_max);
  }

  Result<std::unique_ptr<Sandbox>> make() const {
    return options.snapshot ? backend->fork(options.snapshot) : backend->create(options.policy);
  }

  void give_back() {
    const std::lock_guard lock(mutex);
    --live;
    changed.notify_all();
  }

  // Keeps the warm ones coming until the pool ends.
  void refill() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] {
        return ending || (!broken && ready.size() < options.warm && live < options.live_max && waiting == 0);
      });
      if (ending) return;
      ++live;
      lock.unlock();
      auto sandbox = make();
      lock.lock();
      if (sandbox) {
        ready.push_back(std::move(*sandbox));
      } else {
        --live;
        broken = true;  // take() makes its own, and says what is wrong
      }
      changed.notify_all();
    }
  }

  const std::shared_ptr<Backend> backend;
  PoolOptions options;
  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  std::deque<std::unique_ptr<Sandbox>> ready;
  std::size_t live = 0;     // ready, handed out, or being made
  std::size_t waiting = 0;  // callers of take()
  std::uint64_t next_ticket = 0;
  std::uint64_t now_served = 0;
  bool broken = false;
  bool ending = false;
  std::thread maker;
};

namespace {

// Hands everything on, and gives the place back at the end.
class PooledSandbox final : public Sandbox {
 public:
  PooledSandbox(std::unique_ptr<Sandbox> inner, std::function<void()> give_back)
      : inner_(std::move(inner)), give_back_(std::move(give_back)) {}
  ~PooledSandbox() override {
    inner_.reset();
    give_back_();
  }

  std::string id() const override { return inner_->id(); }
  Level level() const override { return inner_->level(); }
  std::string workspace() const override { return inner_->workspace(); }
  Result<ExecResult> run(std::string_view command, const ExecOptions& options) override {
    return inner_->run(command, options);
  }
  Result<ExecResult> exec(const std::vector<std::string>& arguments, const ExecOptions& options) override {
    return inner_->exec(arguments, options);
  }
  Result<std::string> read_file(std::string_view path, std::uint64_t bytes_max) override {
    return inner_->read_file(path, bytes_max);
  }
  Result<void> write_file(std::string_view path, std::string_view bytes, std::uint32_t mode) override {
    return inner_->write_file(path, bytes, mode);
  }
  Result<std::vector<FolderEntry>> list_folder(std::string_view path, std::size_t entries_max) override {
    return inner_->list_folder(path, entries_max);
  }
  Result<std::vector<BackgroundProcess>> processes() override { return inner_->processes(); }
  Result<SnapshotRef> snapshot() override { return inner_->snapshot(); }
  Result<std::vector<ChangedFile>> changed_files(const SnapshotRef& since) override {
    return inner_->changed_files(since);
  }
  Result<std::string> tree_hash(const TreeHashOptions& options) override {
    return inner_->tree_hash(options);
  }
  Result<void> close() override { return inner_->close(); }

 private:
  std::unique_ptr<Sandbox> inner_;
  std::function<void()> give_back_;
};

}  // namespace

SandboxPool::SandboxPool(std::shared_ptr<Backend> backend, PoolOptions options)
    : state_(std::make_shared<State>(std::move(backend), std::move(options))) {
  state_->maker = std::thread([state = state_.get()] { state->refill(); });
}

SandboxPool::~SandboxPool() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->ending = true;
    state_->changed.notify_all();
  }
  state_->maker.join();
  state_->ready.clear();
}

std::size_t SandboxPool::warm() const {
  const std::lock_guard lock(state_->mutex);
  return state_->ready.size();
}

std::size_t SandboxPool::waiting() const {
  const std::lock_guard lock(state_->mutex);
  return state_->waiting;
}

Result<std::unique_ptr<Sandbox>> SandboxPool::take() {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  const std::uint64_t ticket = state.next_ticket++;
  ++state.waiting;
  state.changed.wait(lock, [&] {
    return ticket == state.now_served && (!state.ready.empty() || state.live < state.options.live_max);
  });
  ++state.now_served;
  --state.waiting;
  std::unique_ptr<Sandbox> sandbox;
  if (!state.ready.empty()) {
    sandbox = std::move(state.ready.front());
    state.ready.pop_front();
  } else {
    ++state.live;
  }
  state.changed.notify_all();
  lock.unlock();
  if (!sandbox) {
    auto made = state.make();
    if (!made) {
      state.give_back();
      return made.error();
    }
    sandbox = std::move(*made);
  }
  return std::unique_ptr<Sandbox>(
      std::make_unique<PooledSandbox>(std::move(sandbox), [kept = state_] { kept->give_back(); }));
}

}  // namespace forkpoint::sandbox
