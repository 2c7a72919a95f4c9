#include "core/hash.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace forkpoint::core {
namespace {

TEST(Sha256, GivesThePublishedDigests) {  // FIPS 180-4 examples
  EXPECT_EQ(sha256("").to_hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc").to_hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')).to_hex(),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Xxh3, GivesThePublishedDigests) {  // the values of xxHash for empty input and seed 0
  EXPECT_EQ(xxh3_64(""), 0x2d06800538d394c2u);
  EXPECT_EQ(xxh3_128("").to_hex(), "99aa06d3014798d86001c324468d497f");
}

template <class Hasher>
class StreamingHash : public testing::Test {};
using Hashers = testing::Types<Xxh3, Sha256>;
TYPED_TEST_SUITE(StreamingHash, Hashers);

TYPED_TEST(StreamingHash, DoesNotDependOnHowTheBytesAreCut) {
  std::string bytes;
  for (int i = 0; i < 5000; ++i) bytes += static_cast<char>(i * 31 % 251);
  TypeParam whole;
  whole.update(bytes);
  for (const std::size_t piece : {1u, 7u, 64u, 1023u}) {
    TypeParam pieces;
    for (std::size_t at = 0; at < bytes.size(); at += piece) pieces.update(bytes.substr(at, piece));
    EXPECT_EQ(pieces.digest(), whole.digest()) << piece;
  }
}

TYPED_TEST(StreamingHash, GoesOnAfterADigest) {
  TypeParam stopped;
  stopped.update("fork");
  const auto first = stopped.digest();
  EXPECT_EQ(stopped.digest(), first);
  stopped.update("point");
  TypeParam straight;
  straight.update("forkpoint");
  EXPECT_EQ(stopped.digest(), straight.digest());
  EXPECT_NE(stopped.digest(), first);
}

TYPED_TEST(StreamingHash, CanBeMoved) {
  TypeParam source;
  source.update("fork");
  TypeParam moved = std::move(source);
  moved.update("point");
  TypeParam straight;
  straight.update("forkpoint");
  EXPECT_EQ(moved.digest(), straight.digest());
}

TEST(StreamingHash, AgreesWithTheFunctions) {
  Xxh3 xxh3;
  xxh3.update("forkpoint");
  EXPECT_EQ(xxh3.digest(), xxh3_128("forkpoint"));
  Sha256 sha;
  sha.update("forkpoint");
  EXPECT_EQ(sha.digest(), sha256("forkpoint"));
}

}  // namespace
}  // namespace forkpoint::core
