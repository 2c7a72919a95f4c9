// The view of layers, against the kernel's own overlayfs: random changes, made through real mounts that stack
// up.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/temp_dir.h"
#include "sandbox/changed_files.h"
#include "sandbox/overlay_view.h"
#include "sandbox/squash.h"
#include "sandbox/tree_hash.h"
#include "tests/sandbox/file_edits.h"

namespace forkpoint::sandbox {
namespace {

namespace fs = std::filesystem;
using Layers = std::vector<fs::path>;

constexpr int kSkip = 77;

// What is seen of one file: "type mode payload", and for mounts, what a squash must keep besides.
struct Seen {
  char type = 'f';
  std::uint32_t mode = 0;
  std::string payload;
  auto operator<=>(const Seen&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Seen& seen) {
  return out << seen.type << " " << std::oct << seen.mode << std::dec << " \"" << seen.payload << "\"";
}
using Tree = std::map<std::string, Seen>;
using Attributes = std::map<std::string, std::string>;

// The test's own reading of a file, apart from the code under test.
Seen look_at(const fs::path& path) {
  struct stat status {};
  RC_ASSERT(::lstat(path.c_str(), &status) == 0);
  Seen seen{.type = '?', .mode = status.st_mode & 07777U, .payload = {}};
  if (S_ISREG(status.st_mode)) {
    seen.type = 'f';
    std::ifstream file(path, std::ios::binary);
    seen.payload.assign(std::istreambuf_iterator<char>(file), {});
  }
  if (S_ISDIR(status.st_mode)) seen.type = 'd';
  if (S_ISFIFO(status.st_mode)) seen.type = 'p';
  if (S_ISLNK(status.st_mode)) {
    seen.type = 'l';
    seen.payload = fs::read_symlink(path).native();
  }
  if (S_ISCHR(status.st_mode)) {
    seen.type = 'c';
    seen.payload = std::to_string(status.st_rdev);
  }
  return seen;
}

Tree tree_on_disk(const fs::path& root) {
  Tree tree;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    tree[entry.path().native().substr(root.native().size())] = look_at(entry.path());
  }
  return tree;
}

Attributes attributes_on_disk(const fs::path& root) {
  Attributes all;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    struct stat status {};
    RC_ASSERT(::lstat(entry.path().c_str(), &status) == 0);
    std::ostringstream text;
    text << status.st_uid << " " << status.st_gid << " " << status.st_mtim.tv_sec << "."
         << status.st_mtim.tv_nsec;
    char list[4096];
    const ssize_t size = ::llistxattr(entry.path().c_str(), list, sizeof list);
    std::map<std::string, std::string> xattrs;
    for (ssize_t at = 0; at < size; at += static_cast<ssize_t>(std::string(list + at).size()) + 1) {
      char value[4096];
      const ssize_t value_size = ::lgetxattr(entry.path().c_str(), list + at, value, sizeof value);
      xattrs[list + at] = std::string(value, static_cast<std::size_t>(std::max<ssize_t>(value_size, 0)));
    }
    for (const auto& [name, value] : xattrs) text << " " << name << "=" << value;
    all[entry.path().native().substr(root.native().size())] = text.str();
  }
  return all;
}

void add_from_view(const OverlayView& view, const ViewEntry& folder, const std::string& parent, Tree& tree) {
  const auto entries = view.list(folder);
  if (!entries) RC_FAIL(entries.error().to_line());
  for (const ViewEntry& entry : *entries) {
    const std::string path = parent + "/" + entry.name;
    RC_ASSERT(entry.layer < view.layers().size());
    if (entry.type == 'd') {
      tree[path] = {.type = 'd', .mode = entry.mode, .payload = {}};
      add_from_view(view, entry, path, tree);
    } else {
      tree[path] = look_at(entry.source);
      RC_ASSERT(tree[path].mode == entry.mode);
      RC_ASSERT(tree[path].type == entry.type);
      if (entry.type == 'f') RC_ASSERT(entry.size_bytes == tree[path].payload.size());
    }
    // Looked up by itself it is the same as in the list.
    const auto found = view.find(path);
    if (!found) RC_FAIL(found.error().to_line());
    RC_ASSERT(found->source == entry.source);
    RC_ASSERT(found->sources == entry.sources);
  }
}

Tree tree_of(const OverlayView& view) {
  Tree tree;
  add_from_view(view, *view.find(""), "", tree);
  return tree;
}

std::string difference(const Tree& before, const Tree& now) {
  std::ostringstream lines;
  Tree all = before;
  all.insert(now.begin(), now.end());
  for (const auto& [path, either] : all) {
    if (!now.contains(path)) {
      lines << "deleted " << either.type << " 0 " << path << "\n";
      continue;
    }
    const Seen& seen = now.at(path);
    std::string kind = "added";
    if (before.contains(path)) {
      const Seen& old = before.at(path);
      if (old == seen) continue;
      kind = old.type != seen.type || old.payload != seen.payload ? "modified" : "mode";
    }
    lines << kind << " " << seen.type << " " << seen.mode << " " << path << "\n";
  }
  return lines.str();
}

std::string reported_difference(const OverlayView& before, const OverlayView& now) {
  const auto changes = changed_files(before, now, "");
  if (!changes) RC_FAIL(changes.error().to_line());
  std::ostringstream lines;
  for (const ChangedFile& change : *changes) {
    lines << to_string(change.kind) << " " << change.type << " " << change.mode << " " << change.path << "\n";
  }
  return lines.str();
}

core::Hash128 hash_of(const OverlayView& view, const fs::path& cache = {}) {
  const auto hash = tree_hash(view, {.cache_folder = cache});
  if (!hash) RC_FAIL(hash.error().to_line());
  return *hash;
}

class Mount {
 public:
  // Without `upper`, read-only.
  Mount(const fs::path& folder, const Layers& lower, const fs::path& upper, OverlayXattrs xattrs)
      : path_(folder / "merged") {
    fs::create_directories(path_);
    std::string options = xattrs == OverlayXattrs::user ? "userxattr" : "redirect_dir=on,metacopy=off";
    options += ",index=off,lowerdir=";
    for (const fs::path& layer : lower) options += layer.native() + ":";
    options.pop_back();
    if (!upper.empty()) {
      const fs::path work = folder / "work" / upper.filename();
      fs::create_directories(work);
      fs::create_directories(upper);
      options += ",upperdir=" + upper.native() + ",workdir=" + work.native();
    }
    if (::mount("overlay", path_.c_str(), "overlay", 0, options.c_str()) != 0) {
      RC_FAIL("mount: " + options + ": " + std::strerror(errno));
    }
  }
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;
  ~Mount() { ::umount2(path_.c_str(), MNT_DETACH); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// One state in the life of a stack, as the kernel showed it.
struct Generation {
  Layers layers;  // top first
  Tree tree;
  Attributes attributes;
};

void check_view(const Generation& generation, OverlayXattrs xattrs, const fs::path& copy,
                const fs::path& cache) {
  const OverlayView view(generation.layers, xattrs);
  RC_ASSERT(tree_of(view) == generation.tree);
  const core::Hash128 hash = hash_of(view);
  RC_ASSERT(hash == hash_of(OverlayView({copy}, xattrs)));
  RC_ASSERT(hash == hash_of(view, cache));
  RC_ASSERT(hash == hash_of(view, cache));
}

// Squashes below the topmost `above` layers, mounts what comes of it, and compares.
void check_squash(const fs::path& folder, const Generation& generation, std::size_t above, std::size_t count,
                  OverlayXattrs xattrs) {
  const auto first = generation.layers.begin() + static_cast<std::ptrdiff_t>(above);
  const auto rest = first + static_cast<std::ptrdiff_t>(count);
  const fs::path into = folder / "squashed";
  const auto squashed = squash(Layers(first, generation.layers.end()), count, xattrs, into);
  if (!squashed) RC_FAIL(squashed.error().to_line());

  Layers layers(generation.layers.begin(), first);
  layers.push_back(into);
  layers.insert(layers.end(), rest, generation.layers.end());
  const OverlayView view(layers, xattrs);
  RC_ASSERT(tree_of(view) == generation.tree);
  RC_ASSERT(reported_difference(OverlayView(generation.layers, xattrs), view) == "");
  layers.push_back(folder / "empty");  // a read-only mount wants two
  fs::create_directory(layers.back());
  const Mount mount(folder, layers, {}, xattrs);
  RC_ASSERT(tree_on_disk(mount.path()) == generation.tree);
  RC_ASSERT(attributes_on_disk(mount.path()) == generation.attributes);
}

// At any size, unlike rapidcheck's own.
rc::Gen<std::size_t> any_in_range(std::size_t from, std::size_t to) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(from, to));
}

void agrees_with_the_kernel(const fs::path& folder, OverlayXattrs xattrs) {
  const std::vector<tests::Edit> base_edits = *tests::edits(80);
  const auto rounds = *any_in_range(1, 5);
  std::vector<Generation> generations;
  Layers layers = {folder / "layer0"};
  fs::create_directories(layers.front());
  tests::apply(base_edits, layers.front(), "");
  generations.push_back({layers, tree_on_disk(layers.front()), attributes_on_disk(layers.front())});

  for (std::size_t round = 1; round <= rounds; ++round) {
    const std::vector<tests::Edit> edits = *tests::edits(20);
    const fs::path upper = folder / ("layer" + std::to_string(round));
    const fs::path copy = folder / ("copy" + std::to_string(round));
    {
      const Mount mount(folder, layers, upper, xattrs);
      tests::apply(edits, mount.path(), std::string(xattr_prefix(xattrs)));
      layers.insert(layers.begin(), upper);
      generations.push_back({layers, tree_on_disk(mount.path()), attributes_on_disk(mount.path())});
      const std::string command =
          "cp -dR --preserve=mode '" + mount.path().native() + "' '" + copy.native() + "'";
      RC_ASSERT(std::system(command.c_str()) == 0);  // NOLINT(cert-env33-c): paths of the test's own
      RC_ASSERT(tree_of(OverlayView(layers, xattrs)) == generations.back().tree);  // the live upper
    }
    check_view(generations.back(), xattrs, copy, folder / "cache");
  }

  for (const Generation& before : generations) {
    for (const Generation& now : generations) {
      RC_ASSERT(reported_difference(OverlayView(before.layers, xattrs), OverlayView(now.layers, xattrs)) ==
                difference(before.tree, now.tree));
    }
  }
  const auto above = *any_in_range(0, 2);
  const auto count = *any_in_range(1, layers.size() + 1 - above);
  check_squash(folder, generations.back(), above, count, xattrs);
}

// Runs in a child with mounts of its own, on a tmpfs that goes with it.
int check_in_private_namespace(const fs::path& folder, OverlayXattrs xattrs) {
  if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tmpfs", folder.c_str(), "tmpfs", 0, nullptr) != 0) {
    std::perror("no private mounts here");
    return kSkip;
  }
  if (::setxattr(folder.c_str(), (std::string(xattr_prefix(xattrs)) + "opaque").c_str(), "n", 1, 0) != 0) {
    std::perror("no xattrs of this kind on a tmpfs here");
    return kSkip;
  }
  ::umask(0);
  int number = 0;
  const bool holds = rc::check("the view shows what the kernel shows", [&] {
    const fs::path here = folder / std::to_string(number++);
    fs::create_directory(here);
    agrees_with_the_kernel(here, xattrs);
    fs::remove_all(here);
  });
  return holds ? 0 : 1;
}

void run_in_child(OverlayXattrs xattrs) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounting needs root";
  const auto temp = core::TempDir::create("forkpoint-overlay-");
  ASSERT_TRUE(temp);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(check_in_private_namespace(temp->path(), xattrs));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  if (WEXITSTATUS(status) == kSkip) GTEST_SKIP() << "the line above says what is missing";
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the counterexample is above";
}

TEST(OverlayKernel, AgreesWithTheView_WithTrustedXattrsAndRedirects) { run_in_child(OverlayXattrs::trusted); }

TEST(OverlayKernel, AgreesWithTheView_WithUserXattrs) { run_in_child(OverlayXattrs::user); }

}  // namespace
}  // namespace forkpoint::sandbox
