// forkpoint-learn-driver: looks at a libforkpoint_learn.so from outside, where the rest of the project is not
// built.
//
//   forkpoint-learn-driver info|check [LIBRARY]
//
// `check` compares the library's results with the same formulas in double precision, on the CPU and on each
// kind of device that is there. Exit codes: 0 all agree; 1 something differs; 2 bad usage; 3 the library
// can't be opened.
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
  std::vector<std::string> devices = {"cpu"};
  if (info.cuda_devices > 0) devices.emplace_back("cuda");
  bool all_agree = true;
  for (const std::string& device : devices) {
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
  if (!gflops) return report(gflops.failure, 1);
  std::printf("LibTorch %s, %d CUDA devices, %d threads, sgemm %.0f GFLOP/s\n", info.torch_version.c_str(),
              info.cuda_devices, info.threads, *gflops.value);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (argc > 3 || (command != "info" && command != "check")) {
    std::fprintf(stderr, "usage: forkpoint-learn-driver info|check [LIBRARY]\n");
    return 2;
  }
  const auto library = LearnLibrary::open(argc > 2 ? argv[2] : LearnLibrary::default_path().string());
  if (!library) return report(library.failure, 3);
  const auto info = library.value->info();
  if (!info) return report(info.failure, 1);
  return command == "check" ? check(*library.value, *info.value) : show_info(*library.value, *info.value);
}
