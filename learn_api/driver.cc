// forkpoint-learn-driver: looks at a libforkpoint_learn.so from outside, where the rest of the project is not
// built.
//
//   forkpoint-learn-driver info|check|bench [LIBRARY]
//
// `check` compares the library's results with the same formulas in double precision, on the CPU and on each
// kind of device that is there. `bench` prints speeds. Exit codes: 0 all agree; 1 something differs; 2 bad
// usage; 3 the library can't be opened.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "learn_api/learn_library.h"

namespace {

using forkpoint::learn_api::Failure;
using forkpoint::learn_api::LearnInfo;
using forkpoint::learn_api::LearnLibrary;

constexpr int kLibraryFailed = 1;
constexpr int kLibraryNotOpened = 3;

constexpr std::int64_t kTokens = 300;
constexpr std::int64_t kVocabulary = 1237;
constexpr double kTemperature = 0.7;

int report(const Failure& failure, int code) {
  std::fprintf(stderr, "forkpoint-learn-driver: %s%s%s\n", failure.message.c_str(),
               failure.advice.empty() ? "" : ": ", failure.advice.c_str());
  return code;
}

// log softmax(row / temperature)[target]
double log_prob(const float* row, std::int64_t target) {
  double largest = row[0];
  for (std::int64_t v = 1; v < kVocabulary; ++v) largest = std::max(largest, static_cast<double>(row[v]));
  double sum = 0;
  for (std::int64_t v = 0; v < kVocabulary; ++v) sum += std::exp((row[v] - largest) / kTemperature);
  return (row[target] - largest) / kTemperature - std::log(sum);
}

// One device of each kind.
std::vector<std::string> devices_of(const LearnInfo& info) {
  if (info.cuda_devices > 0) return {"cpu", "cuda"};
  return {"cpu"};
}

// The largest difference between the library and double precision; negative when the library failed.
double largest_difference(const LearnLibrary& library, const std::string& device) {
  std::vector<float> logits(kTokens * kVocabulary);
  std::vector<std::int64_t> targets(kTokens);
  for (std::size_t i = 0; i < logits.size(); ++i)
    logits[i] = static_cast<float>(8 * std::sin(0.37 * static_cast<double>(i)));
  for (std::size_t t = 0; t < targets.size(); ++t)
    targets[t] = static_cast<std::int64_t>(t * 41) % kVocabulary;
  const auto log_probs = library.token_log_probs({.logits = logits,
                                                  .vocabulary = kVocabulary,
                                                  .targets = targets,
                                                  .temperature = kTemperature,
                                                  .device = device});
  if (!log_probs) return report(log_probs.failure, -1);
  double largest = 0;
  for (std::size_t t = 0; t < targets.size(); ++t) {
    const double expected = log_prob(logits.data() + t * kVocabulary, targets[t]);
    largest = std::max(largest, std::abs(expected - static_cast<double>((*log_probs.value)[t])));
  }
  return largest;
}

int check(const LearnLibrary& library, const LearnInfo& info) {
  constexpr double kToleranceMax = 1e-5;
  bool all_agree = true;
  for (const std::string& device : devices_of(info)) {
    const double difference = largest_difference(library, device);
    const bool agrees = difference >= 0 && difference <= kToleranceMax;
    std::printf("token_log_probs on %s: largest difference %.2g: %s\n", device.c_str(), difference,
                agrees ? "ok" : "WRONG");
    all_agree = all_agree && agrees;
  }
  return all_agree ? 0 : 1;
}

int show_info(const LearnLibrary& library, const LearnInfo& info) {
  const auto gflops = library.measure_sgemm_gflops();
  if (!gflops) return report(gflops.failure, kLibraryFailed);
  std::printf("LibTorch %s, %d CUDA devices, %d threads, sgemm %.0f GFLOP/s\n", info.torch_version.c_str(),
              info.cuda_devices, info.threads, *gflops.value);
  return 0;
}

// Rows of a large vocabulary, as `score` and the losses meet them; the best of a few calls.
int bench(const LearnLibrary& library, const LearnInfo& info) {
  constexpr std::int64_t kBenchVocabulary = 151'936;  // Qwen3's
  constexpr std::size_t kBenchTokens = 256;
  constexpr int kRepeats = 5;
  if (show_info(library, info) != 0) return kLibraryFailed;
  const std::vector<float> logits(kBenchTokens * static_cast<std::size_t>(kBenchVocabulary), 1.0F);
  const std::vector<std::int64_t> targets(kBenchTokens, 17);
  for (const std::string& device : devices_of(info)) {
    for (const double temperature : {1.0, kTemperature}) {
      double best_s = 0;
      for (int repeat = 0; repeat <= kRepeats; ++repeat) {  // the first warms up
        const auto start = std::chrono::steady_clock::now();
        const auto log_probs = library.token_log_probs({.logits = logits,
                                                        .vocabulary = kBenchVocabulary,
                                                        .targets = targets,
                                                        .temperature = temperature,
                                                        .device = device});
        if (!log_probs) return report(log_probs.failure, kLibraryFailed);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        if (repeat == 1 || (repeat > 1 && took.count() < best_s)) best_s = took.count();
      }
      std::printf("token_log_probs on %s, temperature %.1f: %.0f tokens/s, %.2f GB/s of logits\n",
                  device.c_str(), temperature, static_cast<double>(kBenchTokens) / best_s,
                  static_cast<double>(logits.size() * sizeof(float)) / best_s * 1e-9);
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (argc > 3 || (command != "info" && command != "check" && command != "bench")) {
    std::fprintf(stderr, "usage: forkpoint-learn-driver info|check|bench [LIBRARY]\n");
    return 2;
  }
  const auto library = LearnLibrary::open(argc > 2 ? argv[2] : LearnLibrary::default_path().string());
  if (!library) return report(library.failure, kLibraryNotOpened);
  const auto info = library.value->info();
  if (!info) return report(info.failure, kLibraryFailed);
  if (command == "check") return check(*library.value, *info.value);
  if (command == "bench") return bench(*library.value, *info.value);
  return show_info(*library.value, *info.value);
}
