// Log: what the program says to people, on stderr; stdout belongs to results.
//
//   log_info("{} of {} tasks are valid", valid, tasks);
//
// Safe from any thread; each message is one write, so lines never mix. A message that is below the level is
// not formatted. Call configure_log() before other threads start.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace forkpoint {
namespace core {

class ConfigFields;

enum class LogLevel { debug, info, warning, error, off };
std::string_view to_string(LogLevel level);

struct LogOptions {
  LogLevel level = LogLevel::info;
  bool json = false;  // one {"time","level","message"} object a line instead of text
};

void describe(ConfigFields& fields, LogOptions& options);

void configure_log(const LogOptions& options);
bool log_enabled(LogLevel level);
void log_message(LogLevel level, std::string_view message);

template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) log_message(level, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::debug, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::info, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::warning, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::error, format, std::forward<Args>(args)...);
}

}  // namespace core

using core::log_debug;
using core::log_error;
using core::log_info;
using core::log_warning;

}  // namespace forkpoint
