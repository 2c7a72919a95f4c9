#include "core/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <memory>
#include <string>

#include "core/check.h"
#include "core/config.h"
#include "core/json.h"

namespace forkpoint::core {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warning: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
    case LogLevel::off: return spdlog::level::off;
  }
  FORKPOINT_UNREACHABLE();
}

// spdlog's own patterns don't escape, so a message with a quote or a newline would break the line format.
class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const auto milliseconds =
        std::chrono::duration_cast<std::chrono::milliseconds>(message.time.time_since_epoch());
    const std::string_view level(spdlog::level::to_string_view(message.level).data(),
                                 spdlog::level::to_string_view(message.level).size());
    const Json line = {{"time", static_cast<double>(milliseconds.count()) / 1000},
                       {"level", level},
                       {"message", std::string_view(message.payload.data(), message.payload.size())}};
    const std::string text = to_text(line) + '\n';
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<JsonFormatter>(); }
};

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = std::make_shared<spdlog::logger>("forkpoint",
                                                 std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("%^%l%$: %v");
    return made;
  }();
  return *instance;
}

}  // namespace

std::string_view to_string(LogLevel level) {
  const spdlog::string_view_t name = spdlog::level::to_string_view(to_spdlog(level));
  return {name.data(), name.size()};
}

void describe(ConfigFields& fields, LogOptions& options) {
  fields.choice("level", options.level,
                {{"debug", LogLevel::debug},
                 {"info", LogLevel::info},
                 {"warning", LogLevel::warning},
                 {"error", LogLevel::error},
                 {"off", LogLevel::off}},
                "least serious message shown on stderr");
  fields.boolean("json", options.json, "log lines are JSON objects");
}

void configure_log(const LogOptions& options) {
  logger().set_level(to_spdlog(options.level));
  if (options.json) {
    logger().set_formatter(std::make_unique<JsonFormatter>());
  } else {
    logger().set_pattern("%^%l%$: %v");
  }
}

bool log_enabled(LogLevel level) { return level != LogLevel::off && logger().should_log(to_spdlog(level)); }

void log_message(LogLevel level, std::string_view message) {
  logger().log(to_spdlog(level), spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace forkpoint::core
