#include "core/sse.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace forkpoint::core {
namespace {

std::vector<SseEvent> parse(const std::string& stream) { return SseParser().push(stream); }

TEST(SseParser, ReadsFieldsAndComments) {
  const std::vector<SseEvent> expected{
      {.data = "one\n two", .event = "token", .id = "7"}, {.data = "", .event = ""}, {.data = "[DONE]"}};
  EXPECT_EQ(
      parse(": ping\nevent: token\nid:7\ndata: one\ndata:  two\nunknown: x\n\ndata\n\ndata: [DONE]\n\n"),
      expected);
}

TEST(SseParser, TakesEveryKindOfLineEndAndAByteOrderMark) {
  const std::vector<SseEvent> expected{{.data = "a\nb"}, {.data = "c"}};
  EXPECT_EQ(parse("\xEF\xBB\xBF"
                  "data: a\r\ndata: b\r\n\r\ndata: c\r\r"),
            expected);
}

TEST(SseParser, KeepsQuietAboutAnEventThatHasNotEnded) {
  EXPECT_TRUE(parse("data: a\n").empty());
  EXPECT_TRUE(parse("event: token\n\n").empty()) << "an event without data is none";
}

TEST(SseParser, DoesNotDependOnWhereTheStreamIsCut) {
  const std::string stream =
      "\xEF\xBB\xBF: c\r\nevent: e\r\ndata: one\r\rdata: t\xC3\xA4wo\ndata:\n\nid: 1\ndata: 3\r\n\r\n";
  const std::vector<SseEvent> whole = parse(stream);
  ASSERT_EQ(whole.size(), 3u);
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    SseParser parser;
    std::vector<SseEvent> events = parser.push(stream.substr(0, cut));
    for (const SseEvent& event : parser.push(stream.substr(cut))) events.push_back(event);
    EXPECT_EQ(events, whole) << "cut at " << cut;
  }
}

RC_GTEST_PROP(Sse, ReadsBackWhatItWrites, (std::vector<std::string> lines, const std::string& name)) {
  SseEvent event{.data = "", .event = name};
  for (const std::string& line : lines) event.data += line + "\n";
  // A lone carriage return is a line end too, and a byte order mark or NUL at the very start is the stream's.
  std::erase_if(event.data, [](char c) { return c == '\r'; });
  std::erase_if(event.event, [](char c) { return c == '\r' || c == '\n'; });
  const std::vector<SseEvent> again = parse(to_stream(event));
  RC_ASSERT(again == std::vector<SseEvent>{event});
}

TEST(Sse, DoesNotLetAFieldSmuggleALine) {
  const std::vector<SseEvent> expected{{.data = "x", .event = "a data: forged"}};
  EXPECT_EQ(parse(to_stream({.data = "x", .event = "a\ndata: forged"})), expected);
}

}  // namespace
}  // namespace forkpoint::core
