#include "learn_api/learn_library.h"

#include <dlfcn.h>

#include <system_error>

#include "learn_api/learn_api.h"

namespace forkpoint::learn_api {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFileName = "libforkpoint_learn.so";

template <class T>
Outcome<T> failed(std::string code, std::string message, std::string advice = {}) {
  return {.value = std::nullopt, .failure = {std::move(code), std::move(message), std::move(advice)}};
}

template <class T>
Outcome<T> succeeded(T value) {
  return {.value = std::move(value), .failure = {}};
}

}  // namespace

fs::path LearnLibrary::default_path() {
  std::error_code ignored;
  const fs::path program_folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  const fs::path installed = program_folder.parent_path() / "lib" / kFileName;
  const fs::path beside = program_folder / kFileName;
  return !fs::exists(beside, ignored) && fs::exists(installed, ignored) ? installed : beside;
}

Outcome<LearnLibrary> LearnLibrary::open(const fs::path& path) {
  // A path without a slash would send dlopen on a search of its own.
  const fs::path file = fs::absolute(path);
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) {
    return failed<LearnLibrary>("library_missing", file.string() + ": no such library",
                                "build with FORKPOINT_LEARN=ON, or name it with learner.library");
  }
  // RTLD_LOCAL keeps LibTorch's symbols from standing in for those of libraries we link (protobuf among
  // them).
  void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return failed<LearnLibrary>("library_unusable", ::dlerror(),
                                "is it built for this machine and its LibTorch?");
  }
  using Entry = const ForkpointLearnApi* (*)();
  const auto entry = reinterpret_cast<Entry>(::dlsym(handle, "forkpoint_learn_api"));
  if (entry == nullptr) {
    return failed<LearnLibrary>("library_mismatch", file.string() + ": not a Forkpoint learn library");
  }
  const ForkpointLearnApi* api = entry();
  if (api == nullptr || api->abi != FORKPOINT_LEARN_ABI) {
    return failed<LearnLibrary>("library_mismatch",
                                file.string() + ": has interface " +
                                    std::to_string(api == nullptr ? 0 : api->abi) + ", this program needs " +
                                    std::to_string(FORKPOINT_LEARN_ABI),
                                "build library and program from the same sources");
  }
  return succeeded(LearnLibrary(api));
}

template <class T>
Outcome<T> LearnLibrary::last_call_failed() const {
  return failed<T>("failed", api_->last_error());
}

Outcome<LearnInfo> LearnLibrary::info() const {
  ForkpointLearnInfo info{};
  if (api_->info(&info) != 0) return last_call_failed<LearnInfo>();
  return succeeded(LearnInfo{
      .torch_version = info.torch_version, .cuda_devices = info.cuda_devices, .threads = info.threads});
}

Outcome<double> LearnLibrary::measure_sgemm_gflops() const {
  double gflops = 0;
  if (api_->measure_sgemm(&gflops) != 0) return last_call_failed<double>();
  return succeeded(gflops);
}

Outcome<std::vector<float>> LearnLibrary::token_log_probs(const TokenLogProbsRequest& request) const {
  const auto tokens = static_cast<std::int64_t>(request.targets.size());
  // The C side can't see how long a buffer is; this side can.
  if (request.vocabulary <= 0 ||
      request.logits.size() / static_cast<std::size_t>(request.vocabulary) != request.targets.size() ||
      request.logits.size() % static_cast<std::size_t>(request.vocabulary) != 0) {
    return failed<std::vector<float>>(
        "bad_arguments", "token_log_probs: " + std::to_string(request.logits.size()) + " logits are not " +
                             std::to_string(tokens) + " rows of " + std::to_string(request.vocabulary));
  }
  std::vector<float> log_probs(request.targets.size());
  if (api_->token_log_probs(request.logits.data(), tokens, request.vocabulary, request.targets.data(),
                            request.temperature, request.device.c_str(), log_probs.data()) != 0) {
    return last_call_failed<std::vector<float>>();
  }
  return succeeded(std::move(log_probs));
}

}  // namespace forkpoint::learn_api
