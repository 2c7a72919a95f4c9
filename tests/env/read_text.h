// Shorthand for tests of one format.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "env/action_formats.h"

namespace forkpoint::tests {

inline env::ParsedMessage parse(const std::string& format, const std::string& text,
                                env::Finish finish = env::Finish::unknown) {
  return env::make_action_parser(format).value()->parse({.text = text, .finish = finish});
}

// The code of the error that refuses the message as a whole; "" if it is not refused.
inline std::string refusal(const std::string& format, const std::string& text) {
  const env::ParsedMessage parsed = parse(format, text);
  if (parsed.errors.empty()) return "";
  EXPECT_TRUE(parsed.calls.empty()) << text;
  return parsed.errors.front().code;
}

// The command of the message's one call; its refusal in angle brackets if there is none.
inline std::string command(const std::string& format, const std::string& text) {
  const env::ParsedMessage parsed = parse(format, text);
  if (!parsed.errors.empty()) return "<" + parsed.errors.front().code + ">";
  EXPECT_EQ(parsed.calls.size(), 1U) << text;
  EXPECT_EQ(parsed.calls.front().tool, "bash");
  return parsed.calls.front().arguments.at("command").get<std::string>();
}

}  // namespace forkpoint::tests
