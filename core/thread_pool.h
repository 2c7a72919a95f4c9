// ThreadPool: a fixed number of threads for work that may run beside other work.
//
//   ThreadPool pool(4);
//   std::future<int> answer = pool.submit([] { return 42; });
//   pool.parallel_for(tasks.size(), [&](std::size_t i) { validate(tasks[i]); });
//
// Thread-safety: submit() and parallel_for() may be called from any thread, the pool's own included. A task
// that waits for a future of the same pool can deadlock; parallel_for() can't, because its caller takes part
// in the work. The destructor finishes what was submitted.
#pragma once

#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <type_traits>
#include <utility>

namespace forkpoint::core {

class ThreadPool {
 public:
  explicit ThreadPool(std::size_t threads);  // at least one
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  // Runs `action()` on some thread of the pool; its value or its exception is in the future.
  template <class Action>
  std::future<std::invoke_result_t<Action>> submit(Action action) {
    auto task = std::make_shared<std::packaged_task<std::invoke_result_t<Action>()>>(std::move(action));
    post([task] { (*task)(); });
    return task->get_future();
  }

  // Calls body(0) ... body(count - 1), each once, in any order and at the same time; returns when all are
  // done. If calls throw, no further ones are started, and the first exception is rethrown.
  void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body);

 private:
  void post(std::function<void()> action);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace forkpoint::core
