#include "sandbox/junit.h"

#include <fmt/format.h>

#include "core/utf8.h"

namespace forkpoint::sandbox {
namespace {

// U+FFFE and U+FFFF are UTF-8, yet no characters of XML 1.0.
constexpr std::string_view kNonCharacters[] = {"\xef\xbf\xbe", "\xef\xbf\xbf"};
constexpr std::string_view kReplacement = "\xef\xbf\xbd";

std::string escaped(char character) {
  switch (character) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    // As references, or a reader would turn them into spaces where they stand in an attribute.
    case '\n': return "&#10;";
    case '\t': return "&#9;";
    case '\r': return "&#13;";
    default: break;
  }
  const auto byte = static_cast<unsigned char>(character);
  if (byte < 0x20 || byte == 0x7f) return fmt::format("\\x{:02x}", byte);
  return std::string(1, character);
}

double wall_s(const SuiteReport& report) {
  double total = 0;
  for (const CaseResult& one : report.cases) total += one.wall_s;
  return total;
}

std::string counts(std::size_t tests, std::size_t failures, std::size_t skipped, double time_s) {
  return fmt::format(R"(tests="{}" failures="{}" errors="0" skipped="{}" time="{:.3f}")", tests, failures,
                     skipped, time_s);
}

std::string to_junit(const CaseResult& one, const std::string& suite) {
  std::string xml = fmt::format(R"(    <testcase classname="{}" name="{}" time="{:.3f}")", xml_escaped(suite),
                                xml_escaped(one.name), one.wall_s);
  const std::string reason = xml_escaped(one.reason);
  switch (one.status) {
    case CaseStatus::passed: xml += "/>\n"; break;
    case CaseStatus::failed:
      xml += fmt::format(">\n      <failure message=\"{0}\">{0}</failure>\n    </testcase>\n", reason);
      break;
    case CaseStatus::skipped:
      xml += fmt::format(">\n      <skipped message=\"{}\"/>\n    </testcase>\n", reason);
      break;
  }
  return xml;
}

}  // namespace

std::string xml_escaped(std::string_view bytes) {
  const std::string text = core::to_utf8(bytes);
  std::string xml;
  xml.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view three = std::string_view(text).substr(i, 3);
    if (three == kNonCharacters[0] || three == kNonCharacters[1]) {
      xml += kReplacement;
      i += 2;
    } else {
      xml += escaped(text[i]);
    }
  }
  return xml;
}

std::string to_junit(const std::vector<SuiteReport>& reports) {
  std::string suites;
  std::size_t tests = 0;
  std::size_t failures = 0;
  std::size_t skipped = 0;
  double time_s = 0;
  for (const SuiteReport& report : reports) {
    const std::size_t failed_here = report.count(CaseStatus::failed);
    const std::size_t skipped_here = report.count(CaseStatus::skipped);
    suites += fmt::format("  <testsuite name=\"{}\" {}>\n", xml_escaped(report.name),
                          counts(report.cases.size(), failed_here, skipped_here, wall_s(report)));
    for (const CaseResult& one : report.cases) suites += to_junit(one, report.name);
    suites += "  </testsuite>\n";
    tests += report.cases.size();
    failures += failed_here;
    skipped += skipped_here;
    time_s += wall_s(report);
  }
  return fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {}>\n{}</testsuites>\n",
                     counts(tests, failures, skipped, time_s), suites);
}

}  // namespace forkpoint::sandbox
