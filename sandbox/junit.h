// JUnit XML: what CI systems read test results from.
//
// Pure function.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sandbox/suite_runner.h"

namespace forkpoint::sandbox {

// A <testsuite> for each report and a <testcase> for each case. Always well-formed XML 1.0: what is no UTF-8
// becomes U+FFFD, and control characters, which XML can't hold in any way, appear as "\x1b".
std::string to_junit(const std::vector<SuiteReport>& reports);

// Text as it may stand in an element or between double quotes in a tag.
std::string xml_escaped(std::string_view bytes);

}  // namespace forkpoint::sandbox
