#include "core/base64.h"

#include <gtest/gtest.h>

#include <string>

namespace forkpoint::core {
namespace {

TEST(Base64, GivesTheVectorsOfTheStandard) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foob"), "Zm9vYg==");
  EXPECT_EQ(to_base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
}

TEST(Base64, TakesEveryByte) {
  EXPECT_EQ(to_base64(std::string("\x00\xff\xfe", 3)), "AP/+");
  EXPECT_EQ(to_base64("\xfb\xef\xbe"), "++++");
}

}  // namespace
}  // namespace forkpoint::core
