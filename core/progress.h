// Progress: how far a long work is, on stderr: a bar on a terminal, a plain line now and then elsewhere.
//
//   Progress progress("validate", tasks.size());
//   for (...) { ...; progress.advance(1, fmt::format("{} valid", valid)); }
//   progress.finish();
//
// On a terminal the bar is drawn over its own line. The log writes to the same stderr: call clear() before a
// message that must not land behind the bar; the next advance() draws it again.
//
// Thread-safety: all members may be called from any thread. Keeps a reference to its clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.h"

namespace forkpoint::core {

struct ProgressOptions {
  int fd = 2;                                    // where it is written; stays the caller's
  std::optional<bool> terminal;                  // unset: whether `fd` is one
  std::optional<int> width_columns;              // unset: the terminal's, or 80
  std::chrono::milliseconds redraw_every{100};   // on a terminal
  std::chrono::milliseconds line_every{10'000};  // elsewhere
};

class Progress {
 public:
  // `total` is in units of the work; 0 when it is not known. Shows itself at once.
  Progress(std::string_view title, std::uint64_t total, ProgressOptions options = {},
           Clock& clock = system_clock());
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();  // finishes

  // `units` more are done; `note` is shown behind the numbers until the next one. Control characters in it
  // become spaces.
  void advance(std::uint64_t units, std::string_view note = {});

  // Takes the bar off the terminal, until the next advance().
  void clear();

  // Shows the final state; nothing is written after it.
  void finish();

 private:
  std::string text() const;
  void show();
  void write(const std::string& bytes) const;

  const std::string title_;
  const std::uint64_t total_;
  const ProgressOptions options_;
  const bool terminal_;
  Clock& clock_;
  const Clock::SteadyTime start_;

  std::mutex mutex_;
  std::uint64_t done_ = 0;
  std::string note_;
  Clock::SteadyTime shown_at_;
  bool is_shown_current_ = false;  // what is on the screen is the state
  bool finished_ = false;
};

}  // namespace forkpoint::core
