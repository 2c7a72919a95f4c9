#include "core/url.h"

#include <gtest/gtest.h>

#include <string>

namespace forkpoint::core {
namespace {

TEST(Url, IsTakenApartAndDecoded) {
  const Url url = parse_url("https://example.org:8443/a%20b/c?x=1&y=two%26+2&z&=v#part").value();
  EXPECT_EQ(url.scheme, "https");
  EXPECT_EQ(url.host, "example.org");
  EXPECT_EQ(url.port, 8443);
  EXPECT_EQ(url.path, "/a b/c");
  const QueryParameters expected{{"x", "1"}, {"y", "two& 2"}, {"z", ""}, {"", "v"}};
  EXPECT_EQ(url.query, expected);
}

TEST(Url, HasItsSchemesPortAndTheRootPath_WhenNoneIsWritten) {
  const Url url = parse_url("http://example.org").value();
  EXPECT_EQ(url.port, 80);
  EXPECT_EQ(url.path, "/");
  EXPECT_EQ(parse_url("https://example.org").value().port, 443);
}

TEST(Url, KnowsThisMachine) {
  for (const char* text :
       {"http://localhost:1", "http://127.0.0.1", "http://127.1.2.3", "http://[::1]:80/"}) {
    EXPECT_TRUE(parse_url(text).value().is_loopback()) << text;
  }
  EXPECT_FALSE(parse_url("http://example.org").value().is_loopback());
}

TEST(Url, IsRefused_WhenItIsNoHttpUrl) {
  for (const std::string& text :
       {std::string(""), std::string("example.org"), std::string("file:///etc/passwd"),
        std::string("ftp://example.org"), std::string("http://"), std::string("http://a b/"),
        std::string("http://host:99999/"), std::string("http://a\0b/", 11)}) {
    const Result<Url> url = parse_url(text);
    ASSERT_FALSE(url.has_value()) << text;
    EXPECT_EQ(url.error().code, "http_bad_url");
    EXPECT_EQ(url.error().fault, Fault::input);
  }
}

}  // namespace
}  // namespace forkpoint::core
