#include "tests/architecture/source_tree.h"

#include <algorithm>
#include <regex>
#include <sstream>

#include "core/file.h"

namespace forkpoint::tests {
namespace fs = std::filesystem;

std::string SourceFile::folder() const { return fs::path(path).parent_path().string(); }
std::string SourceFile::top() const { return path.substr(0, path.find('/')); }
bool SourceFile::is_header() const { return path.ends_with(".h"); }

SourceFile parse_source(std::string path, const std::string& text) {
  static const std::regex include_line(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"].*)");
  static const std::regex line_comment(R"((^|[^:"])//.*)");
  SourceFile file{.path = std::move(path), .includes = {}, .code = {}};
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line); ++file.lines) {
    std::smatch match;
    if (std::regex_match(line, match, include_line)) file.includes.push_back(match[1]);
    file.code += std::regex_replace(line, line_comment, "$1") + '\n';
  }
  return file;
}

std::vector<SourceFile> read_source_tree(const fs::path& root) {
  std::vector<SourceFile> files;
  for (fs::recursive_directory_iterator entry(root), end; entry != end; ++entry) {
    const std::string name = entry->path().filename().string();
    if (entry->is_directory() && (name == "build" || name == "node_modules" || name.starts_with('.'))) {
      entry.disable_recursion_pending();
    }
    const std::string extension = entry->path().extension().string();
    if (!entry->is_regular_file() || (extension != ".h" && extension != ".cc")) continue;
    files.push_back(
        parse_source(fs::relative(entry->path(), root).string(), core::read_file(entry->path()).value()));
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

}  // namespace forkpoint::tests
