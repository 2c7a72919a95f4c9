// OutputRing: keeps the first and the last bytes of a stream in bounded memory, and counts all of them.
//
// Not synchronized.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sandbox/exec_result.h"

namespace forkpoint::sandbox {

class OutputRing {
 public:
  // Up to `bytes_max` bytes are kept whole; of more, the first half and the last half.
  explicit OutputRing(std::uint64_t bytes_max);

  void add(std::string_view bytes);
  std::uint64_t bytes_total() const { return bytes_total_; }
  CapturedOutput take();

 private:
  std::size_t head_max_;
  std::size_t tail_max_;
  std::string head_;
  std::string tail_;            // a ring once it is full
  std::size_t tail_start_ = 0;  // where its oldest byte is
  std::uint64_t bytes_total_ = 0;
};

}  // namespace forkpoint::sandbox
