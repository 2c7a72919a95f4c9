// The rules of the house: which folder may include which, and where the libraries of one folder stay.
// ARCHITECTURE.md draws them. A rule returns its violations, each one line that names file and reason.
#pragma once

#include <string>
#include <vector>

#include "tests/architecture/source_tree.h"

namespace forkpoint::tests {

// The arrows between folders.
std::vector<std::string> forbidden_arrows(const std::vector<SourceFile>& files);

// Libraries and system calls that belong to one folder: LibTorch, SQL, isolation, Beast, libcurl.
std::vector<std::string> misplaced_libraries(const std::vector<SourceFile>& files);

// Third-party types in headers, which would bind every includer to them.
std::vector<std::string> leaking_headers(const std::vector<SourceFile>& files);

// Headers that include each other in a circle.
std::vector<std::string> include_circles(const std::vector<SourceFile>& files);

}  // namespace forkpoint::tests
