#include "sandbox/launcher/kernel_file.h"

#include <fcntl.h>
#include <unistd.h>

#include "core/unique_fd.h"

namespace forkpoint::sandbox {

bool write_kernel_file(const std::filesystem::path& path, std::string_view text) {
  const core::UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return fd && write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace forkpoint::sandbox
