// The functions behind the C interface: arrays become tensors, exceptions become messages.
//
// It stands in the last of the three rooms because it may see all of them.
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#include "agents/model/token_log_probs.h"
#include "agents/model/torch.h"
#include "learn_api/learn_api.h"

namespace forkpoint::trainer {
namespace {

thread_local std::string last_error_text;

// c10::Error's what() carries a stack trace; its first line says what is wrong.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Runs `action` without autograd; no exception leaves it.
template <class Action>
int guarded(Action action) noexcept {
  try {
    const c10::InferenceMode no_autograd;
    action();
    return 0;
  } catch (const std::exception& exception) {
    last_error_text = first_line(exception.what());
  } catch (...) {
    last_error_text = "unknown exception";
  }
  return -1;
}

// The device of that name, if it can compute: LibTorch itself finds out only in the middle of the work, and
// then speaks of dispatch keys.
torch::Device usable_device(const std::string& name) {
  const torch::Device device(name);
  const auto cuda_devices =
      torch::cuda::is_available() ? static_cast<std::int64_t>(torch::cuda::device_count()) : 0;
  if (device.is_cpu() || (device.is_cuda() && device.index() < cuda_devices && cuda_devices > 0))
    return device;
  throw std::invalid_argument("device " + name + ": there are the CPU and " + std::to_string(cuda_devices) +
                              " usable CUDA devices");
}

const char* last_error() { return last_error_text.c_str(); }

int info(ForkpointLearnInfo* info) {
  return guarded([&] {
    *info = {};
    std::strncpy(info->torch_version, TORCH_VERSION, sizeof info->torch_version - 1);
    info->cuda_devices =
        torch::cuda::is_available() ? static_cast<std::int32_t>(torch::cuda::device_count()) : 0;
    info->threads = at::get_num_threads();
  });
}

int measure_sgemm(double* gflops) {
  return guarded([&] {
    constexpr std::int64_t kSize = 512;
    constexpr int kRepeats = 5;
    const torch::Tensor a = torch::ones({kSize, kSize});
    const torch::Tensor b = torch::ones({kSize, kSize});
    double best_s = 0;
    for (int repeat = 0; repeat <= kRepeats; ++repeat) {  // the first warms up threads and caches
      const auto start = std::chrono::steady_clock::now();
      const torch::Tensor product = torch::mm(a, b);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      if (repeat == 1 || (repeat > 1 && took.count() < best_s)) best_s = took.count();
    }
    *gflops = 2.0 * kSize * kSize * kSize / best_s * 1e-9;
  });
}

int token_log_probs(const float* logits, std::int64_t tokens, std::int64_t vocabulary,
                    const std::int64_t* targets, double temperature, const char* device, float* log_probs) {
  return guarded([&] {
    if (tokens < 0 || vocabulary <= 0) throw std::invalid_argument("token_log_probs: sizes must be positive");
    // from_blob takes a pointer it could write through; nothing here does.
    const torch::Tensor logits_TV =
        torch::from_blob(const_cast<float*>(logits), {tokens, vocabulary}, torch::kFloat32);
    const torch::Tensor targets_T =
        torch::from_blob(const_cast<std::int64_t*>(targets), {tokens}, torch::kInt64);
    const torch::Tensor log_probs_T =
        agents::token_log_probs(logits_TV, targets_T, temperature, usable_device(device));
    std::memcpy(log_probs, log_probs_T.data_ptr<float>(), static_cast<std::size_t>(tokens) * sizeof(float));
  });
}

constexpr ForkpointLearnApi kApi = {.abi = FORKPOINT_LEARN_ABI,
                                    .last_error = last_error,
                                    .info = info,
                                    .measure_sgemm = measure_sgemm,
                                    .token_log_probs = token_log_probs};

}  // namespace
}  // namespace forkpoint::trainer

const ForkpointLearnApi* forkpoint_learn_api(void) { return &forkpoint::trainer::kApi; }
