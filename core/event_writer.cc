#include "core/event_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/crc.hpp>
#include <climits>
#include <cstdlib>

#include "core/tensorboard.pb.h"

namespace forkpoint::core {
namespace {

// CRCs of data that itself holds CRCs are weak; the format therefore stores them rotated and shifted.
std::uint32_t masked_crc32c(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

template <class Integer>
void append_little_endian(std::string& bytes, Integer value) {
  for (std::size_t i = 0; i < sizeof value; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

constexpr std::string_view kFilePrefix = "events.out.tfevents.";

// A new file whose name comes after those of all event files that are there: readers take them in the order
// of their names, which begin with a time, and what a resumed run takes back must have come before. So the
// time in a name is the clock's or, where a file has that one already or the clock went back, the next free
// second.
Result<AppendFile> create_file(const std::filesystem::path& directory, Clock::WallTime wall) {
  std::int64_t second = std::chrono::duration_cast<std::chrono::seconds>(wall.time_since_epoch()).count();
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kFilePrefix)) continue;
    second = std::max<std::int64_t>(second, std::strtoll(name.c_str() + kFilePrefix.size(), nullptr, 10) + 1);
  }
  const std::string name = fmt::format("{}{:010}.{}.{}", kFilePrefix, second, host_name(), ::getpid());
  return AppendFile::open(directory / name, AppendFile::Mode::create);
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

Result<EventWriter> EventWriter::create(const std::filesystem::path& directory, const Clock& clock,
                                        std::optional<std::int64_t> resume_step) {
  const Clock::WallTime wall = clock.wall_now();
  FORKPOINT_ASSIGN_OR_RETURN(AppendFile file, create_file(directory, wall));
  EventWriter writer(std::move(file));
  tensorboard::Event version;
  version.set_wall_time(unix_seconds(wall));
  version.set_file_version("brain.Event:2");
  FORKPOINT_RETURN_IF_ERROR(writer.write_record(version.SerializeAsString()));
  if (resume_step) {
    tensorboard::Event start;
    start.set_wall_time(unix_seconds(wall));
    start.set_step(*resume_step);
    start.mutable_session_log()->set_status(tensorboard::SessionLog::START);
    FORKPOINT_RETURN_IF_ERROR(writer.write_record(start.SerializeAsString()));
  }
  return writer;
}

Result<void> EventWriter::add(std::int64_t step, Clock::WallTime wall, const std::vector<Scalar>& scalars) {
  tensorboard::Event event;
  event.set_wall_time(unix_seconds(wall));
  event.set_step(step);
  for (const auto& [tag, value] : scalars) {
    tensorboard::Value* entry = event.mutable_summary()->add_value();
    entry->set_tag(tag);
    entry->set_simple_value(static_cast<float>(value));
  }
  return write_record(event.SerializeAsString());
}

Result<void> EventWriter::write_record(const std::string& data) {
  std::string record;
  append_little_endian(record, std::uint64_t{data.size()});
  append_little_endian(record, masked_crc32c(record));
  record += data;
  append_little_endian(record, masked_crc32c(data));
  return file_.append(record);
}

}  // namespace forkpoint::core
