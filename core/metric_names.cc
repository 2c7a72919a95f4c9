#include "core/metric_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace forkpoint::core {
namespace {

constexpr std::array kMetrics = {
    MetricInfo{"reward/pass_rate", "share of the step's episodes with reward 1"},
    MetricInfo{"reward/frac_zero_variance", "share of groups whose rewards are all equal: no signal"},
    MetricInfo{"signal/entropy", "entropy of the reward at the groups' pass rates, nats"},
    MetricInfo{"signal/survival", "chance that a group has both a success and a failure"},
    MetricInfo{"signal/rloo_energy", "mean squared leave-one-out advantage"},
    MetricInfo{"signal/contrast_pairs", "pairs of a success and a failure, per group"},
    MetricInfo{"prefix/ratio/1_8", "share of a success's turns that are left to the policy"},
    MetricInfo{"prefix/ratio/2_8", "share of a success's turns that are left to the policy"},
    MetricInfo{"prefix/ratio/6_8", "share of a failure's turns that are replayed"},
    MetricInfo{"prefix/ratio/7_8", "share of a failure's turns that are replayed"},
    MetricInfo{"prefix/ema/1_8", "moving average of the bucket's pass rate"},
    MetricInfo{"prefix/ema/2_8", "moving average of the bucket's pass rate"},
    MetricInfo{"prefix/ema/6_8", "moving average of the bucket's pass rate"},
    MetricInfo{"prefix/ema/7_8", "moving average of the bucket's pass rate"},
    MetricInfo{"prefix/pass_rate", "pass rate of the step's prefix groups"},
    MetricInfo{"prefix/dropped_diverged", "prefix tasks dropped because their replay diverged"},
    MetricInfo{"pair/budget_used", "cost of what was completed, as a share of completing everything"},
    MetricInfo{"pair/completed_frac", "share of candidates that were completed"},
    MetricInfo{"pair/ess", "effective sample size of the pair weights, as a share of the pairs"},
    MetricInfo{"pair/rho_min", "smallest joint inclusion probability"},
    MetricInfo{"pair/probe_cost_frac", "cost of the probes, as a share of the total"},
    MetricInfo{"pair/head/brier", "squared error of the head's success probability"},
    MetricInfo{"pair/head/log_cost_mae", "absolute error of the head's log cost"},
    MetricInfo{"actor/loss", "loss of the learner's step"},
    MetricInfo{"actor/ppo_kl", "estimated KL divergence from the behavior policy, nats"},
    MetricInfo{"actor/pg_clipfrac", "share of tokens whose ratio was clipped"},
    MetricInfo{"actor/entropy", "mean entropy of the policy at trained tokens, nats"},
    MetricInfo{"actor/grad_norm", "norm of the gradient before clipping"},
    MetricInfo{"actor/lr", "learning rate"},
    MetricInfo{"mismatch/kl", "KL divergence between sampler and learner, nats"},
    MetricInfo{"mismatch/ratio_mean", "mean probability ratio of learner to sampler"},
    MetricInfo{"async/staleness", "mean age of trained tokens, policy versions"},
    MetricInfo{"episode/turns", "mean turns of an episode"},
    MetricInfo{"episode/tokens", "mean policy tokens of an episode"},
    MetricInfo{"episode/wall_s", "mean duration of an episode, seconds"},
    MetricInfo{"outcome/*", "episodes that ended with this outcome"},
    MetricInfo{"infra/*", "infrastructure errors of this kind"},
    MetricInfo{"timing_s/generate", "time of the step spent generating, seconds"},
    MetricInfo{"timing_s/sandbox", "time of the step spent in sandboxes, seconds"},
    MetricInfo{"timing_s/reward", "time of the step spent on rewards, seconds"},
    MetricInfo{"timing_s/learn", "time of the step spent learning, seconds"},
    MetricInfo{"timing_s/sync", "time of the step spent bringing new weights to the workers, seconds"},
    MetricInfo{"perf/tokens_per_s", "generated tokens per second"},
    MetricInfo{"perf/episodes_per_s", "finished episodes per second"},
};

bool is_snake_case(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool matches(std::string_view name, std::string_view pattern) {
  if (!pattern.ends_with('*')) return name == pattern;
  pattern.remove_suffix(1);
  return name.starts_with(pattern) && is_snake_case(name.substr(pattern.size()));
}

}  // namespace

std::span<const MetricInfo> known_metrics() { return kMetrics; }

bool is_known_metric(std::string_view name) {
  return std::any_of(kMetrics.begin(), kMetrics.end(),
                     [&](const MetricInfo& metric) { return matches(name, metric.name); });
}

std::string metrics_document() {
  std::string text =
      "# Metrics\n\n"
      "What a run writes to `metrics.jsonl` (one line a step) and to TensorBoard events, both in its "
      "directory. Names are\n"
      "promises: they may be added, never renamed. `*` stands for a name of its own. Made from\n"
      "`core/metric_names.cc`; `FORKPOINT_REGENERATE=1 ./dev test -R MetricNames` writes this file anew.\n\n"
      "| metric | meaning |\n|---|---|\n";
  for (const MetricInfo& metric : kMetrics)
    text += fmt::format("| `{}` | {} |\n", metric.name, metric.meaning);
  return text;
}

}  // namespace forkpoint::core
