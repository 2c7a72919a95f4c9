// LearnLibrary: libforkpoint_learn.so, opened at run time, with a C++ face.
//
//   const auto opened = LearnLibrary::open(LearnLibrary::default_path());
//   if (!opened) return explain(opened.failure);
//   const auto log_probs = opened.value->token_log_probs({.logits = ..., .vocabulary = 151936, .targets =
//   ...});
//
// Standard library and dlopen only, so that it stands on the ground beside core/ and can be built by itself
// on a GPU machine; failures are therefore its own small struct.
//
// Thread-safety: a LearnLibrary is immutable and may be shared by threads. It is a cheap value: the library
// itself stays open until the process ends, because LibTorch leaves threads and exit handlers behind that
// point into it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

struct ForkpointLearnApi;

namespace forkpoint::learn_api {

struct Failure {
  std::string code;     // library_missing, library_unusable, library_mismatch, bad_arguments or failed
  std::string message;  // one line
  std::string advice;   // what to do; may be empty
};

template <class T>
struct [[nodiscard]] Outcome {
  std::optional<T> value;
  Failure failure;  // meaningful when there is no value
  explicit operator bool() const { return value.has_value(); }
};

struct LearnInfo {
  std::string torch_version;
  int cuda_devices = 0;
  int threads = 0;
};

struct TokenLogProbsRequest {
  std::span<const float> logits;  // [T][vocabulary], row-major; -inf forbids an entry
  std::int64_t vocabulary = 0;
  std::span<const std::int64_t> targets;  // [T], each in 0..vocabulary-1
  double temperature = 1.0;               // > 0
  std::string device = "cpu";             // or "cuda", "cuda:N"
};

class LearnLibrary {
 public:
  // Where the build puts the library: beside the running program, else in ../lib of it.
  static std::filesystem::path default_path();

  static Outcome<LearnLibrary> open(const std::filesystem::path& path);

  Outcome<LearnInfo> info() const;

  // Speed of a float32 matrix product on the CPU in GFLOP/s. Below kSgemmGflopsMin LibTorch runs on the
  // reference BLAS (5), or on an OpenBLAS that does not know the processor and fell back to an ancient one's
  // instructions (16, where 120 were to be had); everything that multiplies matrices is then many times
  // slower than it could be.
  Outcome<double> measure_sgemm_gflops() const;
  static constexpr double kSgemmGflopsMin = 40;

  // log softmax(logits[t] / temperature)[targets[t]] for every t. Memory beyond the request's: one float per
  // token and a bounded piece of the rows.
  Outcome<std::vector<float>> token_log_probs(const TokenLogProbsRequest& request) const;

 private:
  explicit LearnLibrary(const ForkpointLearnApi* api) : api_(api) {}
  template <class T>
  Outcome<T> last_call_failed() const;

  const ForkpointLearnApi* api_;
};

}  // namespace forkpoint::learn_api
