// Server-sent events: the stream format of model servers' answers, written and read.
//
// The format: lines "data: ...", "event: ...", "id: ..."; an empty line ends an event; a line that begins
// with ':' is a comment. (HTML standard, "Server-sent events".)
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace forkpoint::core {

struct SseEvent {
  std::string data;
  std::string event = {};  // its type; empty: the default, "message"
  std::string id = {};
  bool operator==(const SseEvent&) const = default;
};

// The event as bytes of a stream. Line breaks in `data` are kept, those in the other fields become spaces.
std::string to_stream(const SseEvent& event);

// Reads a stream that comes in pieces, cut anywhere. Not synchronized.
class SseParser {
 public:
  // The events that this piece completes. One without data is none.
  std::vector<SseEvent> push(std::string_view piece);

 private:
  void end_line(std::vector<SseEvent>& events);

  std::string line_;
  SseEvent pending_;
  bool has_data_ = false;
  bool after_carriage_return_ = false;
  bool at_stream_start_ = true;
};

}  // namespace forkpoint::core
