#include "core/event_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/temp_dir.h"
#include "tests/support/fake_clock.h"

namespace forkpoint::core {
namespace {

namespace fs = std::filesystem;

// A reader of our own, written from the format's description rather than from the writer: the bytes of each
// record and the fields of a message on the wire.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }

  std::string_view take(std::size_t count) {
    EXPECT_LE(count, bytes_.size());
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(std::min(count, bytes_.size()));
    return taken;
  }
  template <class Number>
  Number number() {
    Number value{};
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = number<std::uint8_t>();
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if ((byte & 0x80) == 0) return value;
    }
  }
  std::string_view text() { return take(varint()); }

 private:
  std::string_view bytes_;
};

std::uint32_t unmasked(std::uint32_t masked) {
  const std::uint32_t rotated = masked - 0xa282ead8U;
  return (rotated >> 17) | (rotated << 15);
}

struct Event {
  double wall_time = 0;
  std::int64_t step = 0;
  std::string file_version;
  int session_status = 0;
  std::vector<std::pair<std::string, float>> values;
};

std::pair<std::string, float> parse_value(Bytes bytes) {
  std::pair<std::string, float> value;
  while (!bytes.empty()) {
    switch (bytes.varint()) {
      case 1 << 3 | 2: value.first = bytes.text(); break;
      case 2 << 3 | 5: value.second = bytes.number<float>(); break;
      default: ADD_FAILURE() << "unknown field of a value";
    }
  }
  return value;
}

Event parse_event(Bytes bytes) {
  Event event;
  while (!bytes.empty()) {
    switch (bytes.varint()) {
      case 1 << 3 | 1: event.wall_time = bytes.number<double>(); break;
      case 2 << 3 | 0: event.step = static_cast<std::int64_t>(bytes.varint()); break;
      case 3 << 3 | 2: event.file_version = bytes.text(); break;
      case 5 << 3 | 2: {
        Bytes summary(bytes.text());
        while (!summary.empty()) {
          EXPECT_EQ(summary.varint(), 1U << 3 | 2U);
          event.values.push_back(parse_value(Bytes(summary.text())));
        }
        break;
      }
      case 7 << 3 | 2: {
        Bytes session(bytes.text());
        EXPECT_EQ(session.varint(), 1U << 3);
        event.session_status = static_cast<int>(session.varint());
        break;
      }
      default: ADD_FAILURE() << "unknown field of an event";
    }
  }
  return event;
}

std::vector<Event> read_events(const fs::path& path) {
  const std::string text = read_file(path).value();
  std::vector<Event> events;
  for (Bytes bytes(text); !bytes.empty();) {
    const std::string_view length = bytes.take(8);
    EXPECT_EQ(unmasked(bytes.number<std::uint32_t>()), crc32c(length));
    const std::string_view data = bytes.take(Bytes(length).number<std::uint64_t>());
    EXPECT_EQ(unmasked(bytes.number<std::uint32_t>()), crc32c(data));
    events.push_back(parse_event(Bytes(data)));
  }
  return events;
}

TEST(Crc32c, GivesThePublishedValues) {  // RFC 3720, appendix B.4
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62A8AB43U);
}

class EventWriterTest : public testing::Test {
 protected:
  const TempDir directory_ = TempDir::create("events").value();
  tests::FakeClock clock_{1'796'120'130};
};

TEST_F(EventWriterTest, WritesScalarsInFramedRecords) {
  EventWriter writer = EventWriter::create(directory_.path(), clock_).value();
  clock_.advance(std::chrono::milliseconds(250));
  ASSERT_TRUE(
      writer.add(3, clock_.wall_now(), {{"reward/pass_rate", 0.25}, {"actor/loss", -1e30}}).has_value());
  ASSERT_TRUE(writer.add(std::int64_t{1} << 40, clock_.wall_now(), {{"actor/loss", NAN}}).has_value());

  const std::vector<Event> events = read_events(writer.path());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].file_version, "brain.Event:2");
  EXPECT_EQ(events[0].wall_time, 1'796'120'130);
  EXPECT_EQ(events[1].step, 3);
  EXPECT_DOUBLE_EQ(events[1].wall_time, 1'796'120'130.25);
  const std::vector<std::pair<std::string, float>> expected{{"reward/pass_rate", 0.25F},
                                                            {"actor/loss", -1e30F}};
  EXPECT_EQ(events[1].values, expected);
  EXPECT_EQ(events[2].step, std::int64_t{1} << 40);
  EXPECT_TRUE(std::isnan(events[2].values.at(0).second));
}

TEST_F(EventWriterTest, MarksTheStepAtWhichARunResumes) {
  const EventWriter writer = EventWriter::create(directory_.path(), clock_, 12).value();
  const std::vector<Event> events = read_events(writer.path());
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].step, 12);
  EXPECT_EQ(events[1].session_status, 1);
}

TEST_F(EventWriterTest, MakesFilesWhoseNamesSortInTheOrderTheyWereMade) {
  const fs::path first = EventWriter::create(directory_.path(), clock_).value().path();
  const fs::path second = EventWriter::create(directory_.path(), clock_).value().path();
  clock_.advance(-std::chrono::seconds(100));
  const fs::path third = EventWriter::create(directory_.path(), clock_).value().path();
  EXPECT_TRUE(first.filename().string().starts_with("events.out.tfevents.1796120130."));
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
}

TEST_F(EventWriterTest, SaysWhere_WhenItCantWrite) {
  const Error error = EventWriter::create(directory_.path() / "missing", clock_).error();
  EXPECT_EQ(error.code, "file_unwritable");
  EXPECT_NE(error.message.find("missing/events.out.tfevents."), std::string::npos);
}

}  // namespace
}  // namespace forkpoint::core
