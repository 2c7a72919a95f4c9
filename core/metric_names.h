// The metrics that a run may write: names are promises that dashboards and scripts rely on.
//
// docs/metrics.md is this table in words; a test keeps both the same.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace forkpoint::core {

struct MetricInfo {
  std::string_view name;     // "reward/pass_rate"; "outcome/*" stands for a family with a free last part
  std::string_view meaning;  // with its unit
};

std::span<const MetricInfo> known_metrics();

// Whether the name is in the table, or a member of a family: its last part then is snake_case.
bool is_known_metric(std::string_view name);

// The text of docs/metrics.md.
std::string metrics_document();

}  // namespace forkpoint::core
