#include "core/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/file.h"

namespace forkpoint::core {
namespace {

constexpr int kBarColumns = 20;
constexpr std::string_view kClearLine = "\r\x1b[2K";

std::string printable(std::string_view text) {
  std::string result(text);
  std::replace_if(
      result.begin(), result.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; },
      ' ');
  return result;
}

std::string duration_text(std::chrono::seconds duration) {
  const auto seconds = duration.count();
  if (seconds >= 3600) return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
}

int width_of(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// At most `columns` code points of UTF-8 text, so that no character is cut in two.
std::string_view cut(std::string_view text, int columns) {
  std::size_t end = 0;
  for (int used = 0; end < text.size(); ++end) {
    const bool starts_character = (static_cast<unsigned char>(text[end]) & 0xc0) != 0x80;
    if (starts_character && used++ == columns) break;
  }
  return text.substr(0, end);
}

}  // namespace

Progress::Progress(std::string_view title, std::uint64_t total, ProgressOptions options, Clock& clock)
    : title_(printable(title)),
      total_(total),
      options_(options),
      terminal_(options.terminal.value_or(::isatty(options.fd) == 1)),
      clock_(clock),
      start_(clock.now()),
      shown_at_(start_) {
  const std::lock_guard lock(mutex_);
  show();
}

Progress::~Progress() { finish(); }

void Progress::advance(std::uint64_t units, std::string_view note) {
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  done_ += units;
  note_ = printable(note);
  is_shown_current_ = false;
  if (clock_.now() - shown_at_ >= (terminal_ ? options_.redraw_every : options_.line_every)) show();
}

void Progress::clear() {
  const std::lock_guard lock(mutex_);
  if (finished_ || !terminal_) return;
  write(std::string(kClearLine));
  is_shown_current_ = false;
}

void Progress::finish() {
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  if (!is_shown_current_) show();
  if (terminal_) write("\n");
  finished_ = true;
}

// "title [####----] 3/12 25% 0:04 left, note"; without a total "title 3, 0:04, note".
std::string Progress::text() const {
  const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(clock_.now() - start_);
  std::string text = title_;
  if (total_ == 0) {
    text += fmt::format(" {}, {}", done_, duration_text(elapsed));
  } else {
    const double share = std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_));
    if (terminal_) {
      const auto filled = static_cast<std::size_t>(share * kBarColumns);
      text += fmt::format(" [{}{}]", std::string(filled, '#'), std::string(kBarColumns - filled, '-'));
    }
    text += fmt::format(" {}/{} {:.0f}%", done_, total_, share * 100);
    if (done_ >= total_) {
      text += fmt::format(" in {}", duration_text(elapsed));
    } else if (done_ > 0) {
      const double left_s = static_cast<double>(elapsed.count()) * (1 - share) / share;
      text += fmt::format(" {} left", duration_text(std::chrono::seconds(static_cast<std::int64_t>(left_s))));
    }
  }
  if (!note_.empty()) text += ", " + note_;
  return text;
}

void Progress::show() {
  shown_at_ = clock_.now();
  is_shown_current_ = true;
  if (!terminal_) return write(text() + '\n');
  // The last column stays free: some terminals wrap as soon as it is written.
  const int columns = std::max(1, options_.width_columns.value_or(width_of(options_.fd)) - 1);
  write(fmt::format("{}{}", kClearLine, cut(text(), columns)));
}

// Progress that can't be shown is no reason to stop the work.
void Progress::write(const std::string& bytes) const { (void)write_all(options_.fd, bytes, "progress"); }

}  // namespace forkpoint::core
