#include "sandbox/launcher/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "sandbox/failure.h"
#include "sandbox/inside_path.h"
#include "sandbox/launcher/host_image.h"

namespace forkpoint::sandbox {
namespace {

namespace fs = std::filesystem;

// Of newer kernels than the headers that we may be built with.
constexpr std::uint64_t kTruncate = 1U << 14;        // ABI 3
constexpr std::uint64_t kIoctlOnDevices = 1U << 15;  // ABI 5
constexpr std::uint64_t kTcp = 3;                    // bind and connect: ABI 4
constexpr std::uint64_t kSocketsAndSignals = 3;      // ABI 6
struct Attributes {
  std::uint64_t files = 0;
  std::uint64_t network = 0;
  std::uint64_t scopes = 0;
};

constexpr std::uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kRun = kRead | LANDLOCK_ACCESS_FS_EXECUTE;
constexpr std::uint64_t kReadWriteFile =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;
constexpr std::uint64_t kChannel = kRead | kReadWriteFile | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                                   LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_FIFO;
// Everything but devices.
constexpr std::uint64_t kOwn = kRun | kChannel | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_DIR |
                               LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_SYM |
                               LANDLOCK_ACCESS_FS_REFER;
// What can be granted on something that is no folder.
constexpr std::uint64_t kOfFiles = kReadWriteFile | LANDLOCK_ACCESS_FS_EXECUTE | kIoctlOnDevices;

// Programs and their data; /nix and /gnu are where some distributions keep theirs.
constexpr std::array<const char*, 11> kProgramFolders = {
    "/usr",    "/bin", "/sbin",      "/lib",       "/lib32",           "/lib64",
    "/libx32", "/opt", "/nix/store", "/gnu/store", "/etc/alternatives"};

Error failed(const std::string& what) {
  return host_failure("no_landlock", "Landlock: " + what,
                      "'forkpoint sandbox doctor' says what this machine gives");
}

std::uint64_t handled_files(int abi) {
  std::uint64_t access = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
  if (abi >= 2) access |= LANDLOCK_ACCESS_FS_REFER;
  if (abi >= 3) access |= kTruncate;
  if (abi >= 5) access |= kIoctlOnDevices;
  return access;
}

core::UniqueFd open_place(const std::string& path) {
  return core::UniqueFd(open(path.c_str(), O_PATH | O_CLOEXEC));
}

bool add_rule(int ruleset, int place, std::uint64_t access) {
  landlock_path_beneath_attr rule{};
  rule.allowed_access = access;
  rule.parent_fd = place;
  return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

// By the rule that masks /etc above L1 too.
bool is_public_at(const fs::path& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return false;
  // A link says where it leads; what is there has rules of its own.
  return S_ISLNK(status.st_mode) || is_public(status);
}

bool is_public_throughout(const fs::path& path) {
  std::error_code ignored;
  if (!is_public_at(path)) return false;
  if (fs::is_symlink(path, ignored) || !fs::is_directory(path, ignored)) return true;
  const fs::directory_iterator entries(path, ignored);
  return std::all_of(begin(entries), end(entries),
                     [](const fs::directory_entry& entry) { return is_public_throughout(entry.path()); });
}

}  // namespace

int landlock_abi() {
  const long abi = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi > 0 ? static_cast<int>(abi) : 0;
}

std::string landlock_gaps(int abi) {
  std::string gaps;
  const auto lacks_below = [&](int version, const char* what) {
    if (abi < version) gaps += (gaps.empty() ? "" : ", ") + std::string(what);
  };
  lacks_below(2, "renames between folders (always refused)");
  lacks_below(3, "truncation of files");
  lacks_below(4, "TCP (system calls are filtered instead)");
  lacks_below(5, "ioctl on devices");
  lacks_below(6, "scopes of signals and abstract sockets");
  return gaps;
}

void LandlockRules::allow(const std::string& path, std::uint64_t access) {
  core::UniqueFd place = open_place(path);
  struct stat status {};
  if (!place || fstat(place.get(), &status) != 0) return;  // not on this machine
  if (!S_ISDIR(status.st_mode)) access &= kOfFiles;
  access &= handled_files(abi_);
  if (access != 0) rules_.push_back({std::move(place), access});
}

// Whole folders where nothing below is a secret: a rule can grant what lies below a folder, not take back.
void LandlockRules::allow_public_files(const std::string& folder) {
  allow(folder, LANDLOCK_ACCESS_FS_READ_DIR);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string path = entry.path().string();
    if (entry.is_symlink(ignored) || !is_public_at(path)) continue;
    if (is_public_throughout(path)) {
      allow(path, kRun);
    } else if (entry.is_directory(ignored)) {
      allow_public_files(path);
    }
  }
}

Result<LandlockRules> LandlockRules::build(int init_program) {
  LandlockRules rules;
  rules.abi_ = landlock_abi();
  if (rules.abi_ == 0) return failed("this kernel has none");
  for (const char* folder : kProgramFolders) rules.allow(folder, kRun);
  rules.allow_public_files("/etc");
  rules.allow("/proc", kRead);
  // Often a link to where the machine's resolver writes; of use with the machine's network.
  rules.allow("/etc/resolv.conf", LANDLOCK_ACCESS_FS_READ_FILE);
  for (const char* device :
       {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"})
    rules.allow(device, kReadWriteFile);
  rules.allow("/proc/self/fd/" + std::to_string(init_program),
              LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE);
  return rules;
}

Result<core::UniqueFd> LandlockRules::ruleset_for(const FolderTree& tree, Network network) const {
  Attributes attributes{.files = handled_files(abi_)};
  if (abi_ >= 4 && network == Network::none) attributes.network = kTcp;
  if (abi_ >= 6) attributes.scopes = kSocketsAndSignals;
  // An older kernel takes no more than it knows.
  const std::size_t size = abi_ >= 6 ? 24 : abi_ >= 4 ? 16 : 8;
  core::UniqueFd ruleset(static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, size, 0)));
  if (!ruleset) return failed("no ruleset can be made");
  const auto allow = [&](const fs::path& path, std::uint64_t access) {
    const core::UniqueFd place = open_place(path);
    return place && add_rule(ruleset.get(), place.get(), access & handled_files(abi_));
  };
  bool all = allow(tree.root(), LANDLOCK_ACCESS_FS_READ_DIR) && allow(tree.channel(), kChannel);
  for (const std::string_view name : kStateFolders) all = all && allow(tree.root() / name, kOwn);
  for (const Rule& rule : rules_) all = all && add_rule(ruleset.get(), rule.place.get(), rule.access);
  if (!all) return failed("a rule can't be made");
  return ruleset;
}

Result<void> enter_ruleset(int ruleset) {
  if (syscall(SYS_landlock_restrict_self, ruleset, 0) != 0) return failed("its ruleset can't be entered");
  return {};
}

}  // namespace forkpoint::sandbox
