#include "env/submission.h"

#include <gtest/gtest.h>

#include "tests/support/fake_backend.h"

namespace forkpoint::env {
namespace {

using Submission = std::optional<std::string>;

const std::string kLine = std::string(kSubmissionLine) + "\n";

Submission submitted(const std::string& output, int exit_code = 0, std::string_view noise = {}) {
  return find_submission(tests::ended(exit_code, output), noise).value();
}

TEST(Submission, IsAllThatFollowsTheLine_ByteForByte) {
  EXPECT_EQ(submitted(kLine + "diff --git a b\n+x\r\n\xff"), "diff --git a b\n+x\r\n\xff");
  EXPECT_EQ(submitted(kLine + "\n\n"), "\n\n");
  EXPECT_EQ(submitted(kLine), "");
  EXPECT_EQ(submitted(std::string(kSubmissionLine)), "");
  EXPECT_EQ(submitted("\n \t" + kLine + "x"), "x") << "blank space before it is nothing";
  EXPECT_EQ(submitted(std::string(kSubmissionLine) + "\r\nx\r\n"), "x\r\n") << "a terminal's line end";
}

TEST(Submission, IsNone_WhereTheLineIsNotTheFirst) {
  EXPECT_EQ(submitted("to submit, echo\n" + kLine + "x"), std::nullopt);
  EXPECT_EQ(submitted("$ " + kLine), std::nullopt);
  EXPECT_EQ(submitted(std::string(kSubmissionLine) + " x\n"), std::nullopt);
  EXPECT_EQ(submitted(""), std::nullopt);
}

TEST(Submission, IsNone_WhenTheCommandFailed) {
  EXPECT_EQ(submitted(kLine + "x", 1), std::nullopt);
  sandbox::ExecResult killed = tests::ended(0, kLine);
  killed.exit_code = std::nullopt;
  killed.signal = 9;
  EXPECT_EQ(find_submission(killed).value(), std::nullopt);
  sandbox::ExecResult late = tests::ended(0, kLine);
  late.timed_out = true;
  EXPECT_EQ(find_submission(late).value(), std::nullopt);
}

TEST(Submission, IsReadFromBehindWhatEveryCommandPrints) {
  const std::string noise = "warning: no venv\n";
  EXPECT_EQ(submitted(noise + kLine + "x", 0, noise), "x");
  EXPECT_EQ(submitted(kLine + "x", 0, noise), "x");
  EXPECT_EQ(submitted("other\n" + kLine + "x", 0, noise), std::nullopt);
}

TEST(Submission, IsAnError_WhenNotAllOfItWasKept) {
  sandbox::ExecResult result = tests::ended(0);
  result.output = {.head = kLine + "di", .tail = "ff", .bytes_total = 1000};
  const Error error = find_submission(result).error();
  EXPECT_EQ(error.code, "submission_too_large");
  EXPECT_EQ(error.boundary, Boundary::sandbox);
  result.output.head = "no submission";
  EXPECT_EQ(find_submission(result).value(), std::nullopt);
}

}  // namespace
}  // namespace forkpoint::env
