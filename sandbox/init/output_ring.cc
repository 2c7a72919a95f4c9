#include "sandbox/init/output_ring.h"

#include <algorithm>
#include <cstring>

namespace forkpoint::sandbox {

OutputRing::OutputRing(std::uint64_t bytes_max)
    : head_max_(static_cast<std::size_t>(bytes_max / 2)),
      tail_max_(static_cast<std::size_t>(bytes_max - bytes_max / 2)) {}

void OutputRing::add(std::string_view bytes) {
  bytes_total_ += bytes.size();
  const std::size_t to_head = std::min(bytes.size(), head_max_ - head_.size());
  head_.append(bytes.substr(0, to_head));
  bytes.remove_prefix(to_head);
  if (bytes.size() > tail_max_) bytes.remove_prefix(bytes.size() - tail_max_);
  const std::size_t to_end = std::min(bytes.size(), tail_max_ - tail_.size());
  tail_.append(bytes.substr(0, to_end));
  bytes.remove_prefix(to_end);
  while (!bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), tail_.size() - tail_start_);
    std::memcpy(tail_.data() + tail_start_, bytes.data(), count);
    tail_start_ = (tail_start_ + count) % tail_.size();
    bytes.remove_prefix(count);
  }
}

CapturedOutput OutputRing::take() {
  std::rotate(tail_.begin(), tail_.begin() + static_cast<std::ptrdiff_t>(tail_start_), tail_.end());
  CapturedOutput output{.head = std::move(head_), .tail = std::move(tail_), .bytes_total = bytes_total_};
  if (!output.truncated()) {
    output.head += output.tail;
    output.tail.clear();
  }
  return output;
}

}  // namespace forkpoint::sandbox
