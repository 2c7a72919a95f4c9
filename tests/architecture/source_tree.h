// SourceTree: the project's C++ files and what they include, for the architecture test.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace forkpoint::tests {

struct SourceFile {
  std::string path;                   // relative to the root: "core/hash.cc"
  std::vector<std::string> includes;  // as written between quotes or angle brackets, in order
  std::string code;                   // the text without comments
  std::size_t lines = 0;

  std::string folder() const;  // "agents/model" for agents/model/x.cc
  std::string top() const;     // "agents"
  bool is_header() const;
};

// A file from its text; the tree's reader and the rules' own tests use it.
SourceFile parse_source(std::string path, const std::string& text);

// All .h and .cc files below `root`, in order of their paths; build folders and hidden folders are left out.
std::vector<SourceFile> read_source_tree(const std::filesystem::path& root);

}  // namespace forkpoint::tests
