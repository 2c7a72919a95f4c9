#include "core/event_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <boost/crc.hpp>
#include <cerrno>
#include <climits>

#include "core/file.h"
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

double seconds(Clock::WallTime wall) {
  return std::chrono::duration<double>(wall.time_since_epoch()).count();
}

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

Result<EventWriter> EventWriter::create(const std::filesystem::path& directory, const Clock& clock,
                                        std::optional<std::int64_t> resume_step) {
  // Readers take the files of a directory in the order of their names: time first, then a counter for files
  // made within one second.
  const Clock::WallTime wall = clock.wall_now();
  const auto whole_seconds =
      std::chrono::duration_cast<std::chrono::seconds>(wall.time_since_epoch()).count();
  UniqueFd fd;
  std::filesystem::path path;
  for (int attempt = 0; !fd; ++attempt) {
    path = directory / fmt::format("events.out.tfevents.{:010}.{}.{}.{:03}", whole_seconds, host_name(),
                                   ::getpid(), attempt);
    fd.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644));
    if (!fd && errno != EEXIST) {
      return system_error(errno, "file_unwritable", fmt::format("{}: can't be made", path.native()));
    }
  }
  EventWriter writer(std::move(fd), std::move(path));
  tensorboard::Event version;
  version.set_wall_time(seconds(wall));
  version.set_file_version("brain.Event:2");
  FORKPOINT_RETURN_IF_ERROR(writer.write_record(version.SerializeAsString()));
  if (resume_step) {
    tensorboard::Event start;
    start.set_wall_time(seconds(wall));
    start.set_step(*resume_step);
    start.mutable_session_log()->set_status(tensorboard::SessionLog::START);
    FORKPOINT_RETURN_IF_ERROR(writer.write_record(start.SerializeAsString()));
  }
  return writer;
}

Result<void> EventWriter::add(std::int64_t step, Clock::WallTime wall, const std::vector<Scalar>& scalars) {
  tensorboard::Event event;
  event.set_wall_time(seconds(wall));
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
  return write_all(fd_.get(), record, path_);
}

}  // namespace forkpoint::core
