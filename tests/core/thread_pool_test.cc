#include "core/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace forkpoint::core {
namespace {

TEST(ThreadPool, GivesValuesAndExceptionsThroughFutures) {
  ThreadPool pool(2);
  EXPECT_EQ(pool.submit([] { return 42; }).get(), 42);
  std::future<void> failing = pool.submit([] { throw std::runtime_error("thrown"); });
  EXPECT_THROW(failing.get(), std::runtime_error);
}

TEST(ThreadPool, RunsAsManyTasksAtOnceAsItHasThreads) {
  ThreadPool pool(3);
  std::latch all_here(3);
  std::vector<std::future<void>> futures;
  for (int i = 0; i < 3; ++i) futures.push_back(pool.submit([&] { all_here.arrive_and_wait(); }));
  for (auto& future : futures) future.get();
}

TEST(ThreadPool, FinishesWhatWasSubmitted_BeforeItIsGone) {
  std::atomic<int> done = 0;
  {
    ThreadPool pool(1);
    std::latch start(1);
    for (int i = 0; i < 100; ++i) {
      (void)pool.submit([&] {
        start.wait();
        ++done;
      });
    }
    start.count_down();
  }
  EXPECT_EQ(done, 100);
}

TEST(ParallelFor, CallsEachIndexOnce) {
  ThreadPool pool(4);
  for (const std::size_t count : {0u, 1u, 3u, 1000u}) {
    std::vector<std::atomic<int>> calls(count);
    pool.parallel_for(count, [&](std::size_t i) { ++calls[i]; });
    for (const auto& call : calls) EXPECT_EQ(call, 1);
  }
}

TEST(ParallelFor, UsesThePoolsThreadsAndTheCaller) {
  ThreadPool pool(3);
  std::latch all_here(4);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  pool.parallel_for(4, [&](std::size_t) {
    all_here.arrive_and_wait();
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(threads.size(), 4u);
  EXPECT_TRUE(threads.contains(std::this_thread::get_id()));
}

TEST(ParallelFor, DoesNotDeadlock_WhenCalledFromTheOnlyThreadOfThePool) {
  ThreadPool pool(1);
  std::atomic<int> calls = 0;
  pool.submit([&] {
        pool.parallel_for(5, [&](std::size_t) { pool.parallel_for(5, [&](std::size_t) { ++calls; }); });
      })
      .get();
  EXPECT_EQ(calls, 25);
}

TEST(ParallelFor, RethrowsTheFirstExceptionAndStartsNothingMore) {
  ThreadPool pool(1);
  std::atomic<int> calls = 0;
  std::latch failed(1);
  const auto body = [&](std::size_t i) {
    if (i == 0) {
      failed.count_down();
      throw std::runtime_error("thrown");
    }
    failed.wait();
    ++calls;
  };
  EXPECT_THROW(pool.parallel_for(1'000'000, body), std::runtime_error);
  EXPECT_LT(calls, 1'000'000 - 1);
}

}  // namespace
}  // namespace forkpoint::core
