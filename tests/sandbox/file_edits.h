// Edit: one random change to a file tree, of every kind that a program could make, for properties.
//
// An edit names what it changes by number, modulo what is there, so that any list of edits can be applied to
// any tree, and shrinks well. What the kernel refuses is left as it is.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

namespace forkpoint::tests {

struct Edit {
  enum class Kind : std::uint8_t {
    create,
    overwrite,
    append,
    change_mode,
    change_owner,
    make_folder,
    rename,
    exchange,
    remove,
    remove_all,
    make_anew,  // remove, then a folder of the same name with something in it
    symlink,
    hard_link,
    set_xattr,
    set_overlay_xattr,  // tries to forge the marks of overlayfs from inside
    make_node,
    end,
  };
  Kind kind = Kind::create;
  std::uint8_t what = 0;   // the file or folder that is changed
  std::uint8_t where = 0;  // the folder to change it to, or its peer
  std::uint8_t name = 0;   // and its name there; also chooses contents, modes and such
};
// The name that rapidcheck looks for.
void showValue(const Edit& edit, std::ostream& out);  // NOLINT(readability-identifier-naming)

rc::Gen<std::vector<Edit>> edits(int count_max);

// `xattr_prefix`: of the overlay's own xattrs that set_overlay_xattr tries; empty for a tree that is no
// mount, where they would be no attempt.
void apply(const std::vector<Edit>& edits, const std::filesystem::path& root,
           const std::string& xattr_prefix);

}  // namespace forkpoint::tests
