#include "sandbox/pool.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/support/fake_backend.h"

namespace forkpoint::sandbox {
namespace {

using tests::FakeBackend;

PoolOptions options_of(std::size_t warm, std::size_t live_max) {
  PoolOptions options;
  options.warm = warm;
  options.live_max = live_max;
  return options;
}

void wait_until_warm(const SandboxPool& pool, std::size_t count) {
  while (pool.warm() < count) std::this_thread::yield();
}

TEST(SandboxPool, HandsOutWhatItMadeAhead) {
  const auto backend = std::make_shared<FakeBackend>();
  SandboxPool pool(backend, options_of(2, 4));
  wait_until_warm(pool, 2);
  EXPECT_EQ(backend->created(), 2);
  const auto sandbox = pool.take();
  ASSERT_TRUE(sandbox);
  wait_until_warm(pool, 2);
  EXPECT_EQ(backend->created(), 3);
}

TEST(SandboxPool, LeavesNothingBehind_AndItsSandboxesMayOutliveIt) {
  const auto backend = std::make_shared<FakeBackend>();
  std::unique_ptr<Sandbox> kept;
  {
    SandboxPool pool(backend, options_of(3, 4));
    kept = std::move(*pool.take());
  }
  EXPECT_EQ(backend->sandboxes_alive(), 1);
  kept.reset();
  EXPECT_EQ(backend->sandboxes_alive(), 0);
}

TEST(SandboxPool, NeverHasMoreThanItsBound_AndServesInOrder) {
  const auto backend = std::make_shared<FakeBackend>();
  SandboxPool pool(backend, options_of(0, 1));
  auto held = std::move(*pool.take());
  std::mutex mutex;
  std::condition_variable began;
  std::vector<int> order;
  int waiting = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      std::unique_lock lock(mutex);
      began.wait(lock, [&] { return waiting == i; });
      ++waiting;
      began.notify_all();
      // take() is entered with the lock held only up to here: the next thread comes after us.
      lock.unlock();
      auto sandbox = pool.take();
      const std::lock_guard order_lock(mutex);
      order.push_back(i);
      EXPECT_EQ(backend->sandboxes_alive(), 1);
    });
    std::unique_lock lock(mutex);
    began.wait(lock, [&] { return waiting == i + 1; });
    lock.unlock();
    while (pool.waiting() < static_cast<std::size_t>(i) + 1) std::this_thread::yield();
  }
  held.reset();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

TEST(SandboxPool, SaysWhatIsWrong_WhenNoneCanBeMade) {
  const auto backend = std::make_shared<FakeBackend>();
  backend->refuse_create(tests::fake_error("no_such_image"));
  SandboxPool pool(backend, options_of(2, 2));
  for (int i = 0; i < 3; ++i) {
    const auto refused = pool.take();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, "no_such_image");
  }
}

TEST(SandboxPool, ForksASnapshot_WhereOneIsGiven) {
  const auto backend = std::make_shared<FakeBackend>();
  PoolOptions options = options_of(1, 2);
  options.snapshot = *(*backend->create({}))->snapshot();
  SandboxPool pool(backend, options);
  ASSERT_TRUE(pool.take());
  EXPECT_GE(backend->forked(), 1);
}

}  // namespace
}  // namespace forkpoint::sandbox
