// EventWriter: scalars in a file that TensorBoard reads.
//
// The file is a sequence of records (u64 length, masked CRC32C of the length, data, masked CRC32C of the
// data; little-endian), each data a serialized Event of core/tensorboard.proto. Each add is one write, so
// that a killed run leaves whole records, at worst followed by a torn one, at which readers stop.
//
// Movable, not copyable; not synchronized.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/append_file.h"
#include "core/clock.h"
#include "core/result.h"

namespace forkpoint::core {

using Scalar = std::pair<std::string, double>;

// CRC-32 with the Castagnoli polynomial, reflected, as in iSCSI (RFC 3720).
std::uint32_t crc32c(std::string_view bytes);

class EventWriter {
 public:
  // Makes a new file in `directory`, which must exist. With `resume_step`, readers forget what earlier files
  // of the directory say about that step and later ones. Error: `file_unwritable`.
  static Result<EventWriter> create(const std::filesystem::path& directory, const Clock& clock,
                                    std::optional<std::int64_t> resume_step = std::nullopt);

  // Values of one step at `wall`. Not-a-number and infinities are kept: TensorBoard shows them as what they
  // are.
  Result<void> add(std::int64_t step, Clock::WallTime wall, const std::vector<Scalar>& scalars);

  const std::filesystem::path& path() const { return file_.path(); }

 private:
  explicit EventWriter(AppendFile file) : file_(std::move(file)) {}
  Result<void> write_record(const std::string& data);

  AppendFile file_;
};

}  // namespace forkpoint::core
