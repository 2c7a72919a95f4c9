#include "core/thread_pool.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>

#include "core/asio.h"
#include "core/check.h"

namespace forkpoint::core {
namespace {

// One parallel_for: indices are handed out to whoever asks, the caller or a helper on the pool. A helper that
// comes late finds nothing left; it shares ownership because the call may have returned by then.
class Loop {
 public:
  Loop(std::size_t count, std::function<void(std::size_t)> body) : count_(count), body_(std::move(body)) {}

  // Works until no index is left.
  void take_part() {
    std::unique_lock lock(mutex_);
    while (next_ < count_) {
      const std::size_t index = next_++;
      ++running_;
      lock.unlock();
      std::exception_ptr failure;
      try {
        body_(index);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      if (failure != nullptr && first_failure_ == nullptr) {
        first_failure_ = failure;
        next_ = count_;
      }
      if (--running_ == 0 && next_ == count_) finished_.notify_all();
    }
  }

  // Waits for the indices that others took; rethrows the first failure.
  void finish() {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&] { return running_ == 0 && next_ == count_; });
    if (first_failure_ != nullptr) std::rethrow_exception(first_failure_);
  }

 private:
  const std::size_t count_;
  const std::function<void(std::size_t)> body_;
  std::mutex mutex_;
  std::condition_variable finished_;
  std::size_t next_ = 0;
  std::size_t running_ = 0;
  std::exception_ptr first_failure_;
};

}  // namespace

struct ThreadPool::State {
  explicit State(std::size_t thread_count) : threads(thread_count), pool(thread_count) {}
  std::size_t threads;
  boost::asio::thread_pool pool;
};

ThreadPool::ThreadPool(std::size_t threads) {
  FORKPOINT_CHECK(threads >= 1, "a pool needs a thread");
  state_ = std::make_unique<State>(threads);
}

ThreadPool::~ThreadPool() { state_->pool.join(); }

void ThreadPool::post(std::function<void()> action) { boost::asio::post(state_->pool, std::move(action)); }

void ThreadPool::parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) {
  if (count == 0) return;
  const auto loop = std::make_shared<Loop>(count, body);
  const std::size_t helpers = std::min(count - 1, state_->threads);
  for (std::size_t helper = 0; helper < helpers; ++helper) post([loop] { loop->take_part(); });
  loop->take_part();
  loop->finish();
}

}  // namespace forkpoint::core
