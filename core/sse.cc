#include "core/sse.h"

#include <algorithm>
#include <utility>

namespace forkpoint::core {
namespace {

std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

}  // namespace

std::string to_stream(const SseEvent& event) {
  std::string stream;
  if (!event.event.empty()) stream += "event: " + one_line(event.event) + '\n';
  if (!event.id.empty()) stream += "id: " + one_line(event.id) + '\n';
  std::string_view rest = event.data;
  while (true) {
    const std::size_t end = rest.find('\n');
    stream += "data: " + std::string(rest.substr(0, end)) + '\n';
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return stream + '\n';
}

std::vector<SseEvent> SseParser::push(std::string_view piece) {
  std::vector<SseEvent> events;
  for (const char c : piece) {
    const bool second_half_of_crlf = c == '\n' && after_carriage_return_;
    after_carriage_return_ = c == '\r';
    if (second_half_of_crlf) continue;
    if (c == '\n' || c == '\r') {
      end_line(events);
    } else {
      line_ += c;
    }
  }
  return events;
}

void SseParser::end_line(std::vector<SseEvent>& events) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::string line = std::exchange(line_, {});
  if (std::exchange(at_stream_start_, false) && line.starts_with(kByteOrderMark))
    line.erase(0, kByteOrderMark.size());
  if (line.empty()) {
    SseEvent event = std::exchange(pending_, {});
    if (std::exchange(has_data_, false)) events.push_back(std::move(event));
    return;
  }
  const std::size_t colon = line.find(':');
  const std::string field = line.substr(0, colon);
  std::string value = colon == std::string::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.erase(0, 1);
  if (field == "data") {
    if (std::exchange(has_data_, true)) pending_.data += '\n';
    pending_.data += value;
  } else if (field == "event") {
    pending_.event = value;
  } else if (field == "id") {
    pending_.id = value;
  }
}

}  // namespace forkpoint::core
