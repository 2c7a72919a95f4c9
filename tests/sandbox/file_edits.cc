#include "tests/sandbox/file_edits.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/unique_fd.h"

namespace forkpoint::tests {
namespace {

namespace fs = std::filesystem;

// Few, so that they meet again.
constexpr std::array kNames = {"a",         "b",         "a",        "b",    "c",
                               "new\nline", "two words", "\xc3\xa9", "\xff", ".wh.a"};
constexpr std::array<mode_t, 6> kModes = {0644, 0600, 0755, 0700, 04711, 01777};

void write(const fs::path& path, int flags, unsigned choice) {
  const core::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | flags, 0644));
  if (!fd) return;
  const std::string content(choice % 3, static_cast<char>('x' + choice % 2));
  (void)!::write(fd.get(), content.data(), content.size());
}

// All that is below `root`, sorted, so that a number means the same in two runs.
std::vector<fs::path> everything(const fs::path& root, bool folders_only) {
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    const bool folder = entry.symlink_status().type() == fs::file_type::directory;
    if (folder || !folders_only) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

void set_overlay_xattr(const fs::path& path, const std::string& prefix, unsigned choice) {
  if (prefix.empty()) return;
  if (choice % 3 == 0) ::lsetxattr(path.c_str(), (prefix + "opaque").c_str(), "y", 1, 0);
  if (choice % 3 == 1) ::lsetxattr(path.c_str(), (prefix + "redirect").c_str(), "/a", 2, 0);
  if (choice % 3 == 2) ::lsetxattr(path.c_str(), (prefix + "whiteout").c_str(), "", 0, 0);
}

void make_node(const fs::path& path, unsigned choice, bool in_mount) {
  if (choice % 3 == 0) ::mkfifo(path.c_str(), 0644);
  if (choice % 3 == 1) ::mknod(path.c_str(), S_IFCHR | 0600, makedev(1, choice % 2 == 0 ? 3 : 5));
  if (choice % 3 == 2 && in_mount) ::mknod(path.c_str(), S_IFCHR | 0600, 0);  // a whiteout: refused
}

void apply_to(const Edit& edit, const fs::path& what, const fs::path& peer, const fs::path& target,
              const std::string& xattr_prefix) {
  using Kind = Edit::Kind;
  std::error_code ignored;
  switch (edit.kind) {
    case Kind::create: write(target, O_CREAT | O_EXCL, edit.name); break;
    case Kind::overwrite: write(what, O_TRUNC, edit.name); break;
    case Kind::append: write(what, O_APPEND, edit.name); break;
    case Kind::change_mode:
      if (!fs::is_symlink(what, ignored)) ::chmod(what.c_str(), kModes[edit.name % kModes.size()]);
      break;
    case Kind::change_owner: (void)!::lchown(what.c_str(), edit.name, edit.name); break;
    case Kind::make_folder: ::mkdir(target.c_str(), kModes[edit.what % kModes.size()] | 0700U); break;
    case Kind::rename: (void)std::rename(what.c_str(), target.c_str()); break;
    case Kind::exchange: ::renameat2(AT_FDCWD, what.c_str(), AT_FDCWD, peer.c_str(), RENAME_EXCHANGE); break;
    case Kind::remove: (void)std::remove(what.c_str()); break;
    case Kind::remove_all: fs::remove_all(what, ignored); break;
    case Kind::make_anew:
      fs::remove_all(what, ignored);
      ::mkdir(what.c_str(), 0755);
      if (edit.name % 2 == 0) write(what / kNames[edit.where % kNames.size()], O_CREAT, edit.name);
      break;
    case Kind::symlink: (void)!::symlink(kNames[edit.what % kNames.size()], target.c_str()); break;
    case Kind::hard_link: (void)!::link(what.c_str(), target.c_str()); break;
    case Kind::set_xattr: ::lsetxattr(what.c_str(), "trusted.note", &edit.where, 1, 0); break;
    case Kind::set_overlay_xattr: set_overlay_xattr(what, xattr_prefix, edit.name); break;
    case Kind::make_node: make_node(target, edit.what, !xattr_prefix.empty()); break;
    case Kind::end: break;
  }
}

}  // namespace

void showValue(const Edit& edit, std::ostream& out) {  // NOLINT(readability-identifier-naming)
  constexpr std::array kKinds = {"create",      "overwrite", "append",    "change_mode", "change_owner",
                                 "make_folder", "rename",    "exchange",  "remove",      "remove_all",
                                 "make_anew",   "symlink",   "hard_link", "set_xattr",   "set_overlay_xattr",
                                 "make_node",   "end"};
  out << kKinds[static_cast<std::size_t>(edit.kind)] << "(what=" << int{edit.what}
      << " where=" << int{edit.where} << " name=" << int{edit.name} << ")";
}

rc::Gen<std::vector<Edit>> edits(int count_max) {
  using Kind = Edit::Kind;
  // rapidcheck narrows what it draws from at small sizes: the size is meant for the list alone.
  const auto any = rc::gen::inRange<int>(0, static_cast<int>(Kind::end));
  const auto frequent = rc::gen::element(Kind::create, Kind::make_folder, Kind::make_folder, Kind::rename);
  const auto kind = rc::gen::resize(
      rc::kNominalSize,
      rc::gen::weightedOneOf<Kind>(
          {{1, rc::gen::map(any, [](int i) { return static_cast<Kind>(i); })}, {1, frequent}}));
  const auto number = rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint8_t>());
  const auto edit =
      rc::gen::build<Edit>(rc::gen::set(&Edit::kind, kind), rc::gen::set(&Edit::what, number),
                           rc::gen::set(&Edit::where, number), rc::gen::set(&Edit::name, number));
  return rc::gen::resize(count_max, rc::gen::container<std::vector<Edit>>(edit));
}

void apply(const std::vector<Edit>& edits, const std::filesystem::path& root,
           const std::string& xattr_prefix) {
  for (const Edit& edit : edits) {
    const std::vector<fs::path> all = everything(root, false);
    std::vector<fs::path> folders = everything(root, true);
    folders.push_back(root);
    const fs::path target = folders[edit.where % folders.size()] / kNames[edit.name % kNames.size()];
    // With nothing there to change, only what makes something new has an effect.
    const fs::path what = all.empty() ? root / "nothing" : all[edit.what % all.size()];
    const fs::path peer = all.empty() ? what : all[edit.where % all.size()];
    apply_to(edit, what, peer, target, xattr_prefix);
  }
}

}  // namespace forkpoint::tests
