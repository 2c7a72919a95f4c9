#include "agents/model/token_log_probs.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

namespace forkpoint::agents {
namespace {

// 64 MiB of float32 at a time: enough to keep a device busy, little beside the logits themselves.
constexpr std::int64_t kPieceElements = std::int64_t{16} << 20;

// Tensors are divided in float32, so the temperature must be one: 1e-300 would become 0 there.
void check_temperature(double temperature) {
  using Float = std::numeric_limits<float>;
  if (temperature >= double{Float::min()} && temperature <= double{Float::max()}) return;
  throw std::invalid_argument("token_log_probs: temperature must be above 0 and a normal float32, not " +
                              std::to_string(temperature));
}

// Softmax does not change when a row is shifted. Taking its maximum away before the division keeps what
// float32 would otherwise round off (logits around 100 at temperature 0.7: ten times the error), and keeps
// low temperatures from overflowing. The result is new memory: the logits are the caller's.
torch::Tensor scaled(const torch::Tensor& logits_RV, double temperature) {
  return (logits_RV - logits_RV.amax(-1, /*keepdim=*/true)).div_(temperature);
}

void check_targets(const torch::Tensor& targets_T, std::int64_t vocabulary) {
  const auto targets = targets_T.accessor<std::int64_t, 1>();
  for (std::int64_t t = 0; t < targets.size(0); ++t) {
    if (targets[t] >= 0 && targets[t] < vocabulary) continue;
    throw std::invalid_argument("token_log_probs: target " + std::to_string(targets[t]) + " in row " +
                                std::to_string(t) + " is not in a vocabulary of " +
                                std::to_string(vocabulary));
  }
}

}  // namespace

torch::Tensor token_log_probs(const torch::Tensor& logits_TV, const torch::Tensor& targets_T,
                              double temperature, const torch::Device& device) {
  const std::int64_t tokens = logits_TV.size(0);
  const std::int64_t vocabulary = logits_TV.size(1);
  check_temperature(temperature);
  check_targets(targets_T, vocabulary);

  torch::Tensor log_probs_T = torch::empty({tokens}, torch::kFloat32);
  const std::int64_t rows_max =
      std::max<std::int64_t>(1, kPieceElements / std::max<std::int64_t>(1, vocabulary));
  for (std::int64_t first = 0; first < tokens; first += rows_max) {
    const std::int64_t rows = std::min(rows_max, tokens - first);
    const torch::Tensor logits_RV = logits_TV.narrow(0, first, rows).to(device, torch::kFloat32);
    const torch::Tensor targets_R = targets_T.narrow(0, first, rows).to(device);
    const torch::Tensor scaled_RV = temperature == 1.0 ? logits_RV : scaled(logits_RV, temperature);
    const torch::Tensor log_softmax_RV = scaled_RV.log_softmax(-1);
    log_probs_T.narrow(0, first, rows).copy_(log_softmax_RV.gather(1, targets_R.unsqueeze(1)).squeeze(1));
    // A broken row shows in all of its entries, the gathered one included.
    const auto pieces = log_probs_T.accessor<float, 1>();
    for (std::int64_t t = first; t < first + rows; ++t) {
      if (std::isnan(pieces[t])) {
        throw std::invalid_argument("token_log_probs: row " + std::to_string(t) +
                                    " has NaN, +inf or no finite logit");
      }
    }
  }
  return log_probs_T;
}

}  // namespace forkpoint::agents
