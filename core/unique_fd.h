// UniqueFd: owns one file descriptor and closes it.
//
// Movable, not copyable; not synchronized.
#pragma once

#include <utility>

namespace forkpoint::core {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

  // Gives the descriptor up: the caller closes it.
  int release() { return std::exchange(fd_, -1); }

  // Closes what is held and takes `fd` instead. Leaves errno as it was.
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

}  // namespace forkpoint::core
