#include "sandbox/inside_path.h"

#include <algorithm>

namespace forkpoint::sandbox {
namespace {

bool is_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

// "/workspace" and what is below it.
bool names_state(std::string_view path) {
  return std::any_of(kStateFolders.begin(), kStateFolders.end(), [path](std::string_view folder) {
    return path.starts_with('/') && is_below(path.substr(1), folder);
  });
}

}  // namespace

std::string seen_path(std::string_view path, std::string_view root) {
  if (root == "/" || is_below(path, root) || !names_state(path)) return std::string(path);
  return std::string(root).append(path);
}

std::optional<std::string> state_path(std::string_view path, std::string_view root) {
  if (root == "/" || !path.starts_with('/')) return std::string(path);
  if (path == root) return "/";
  if (is_below(path, root)) return std::string(path.substr(root.size()));
  if (names_state(path)) return std::string(path);
  return std::nullopt;
}

}  // namespace forkpoint::sandbox
