// Hashes: XXH3 for speed (caches, change detection), SHA-256 where someone could profit from a
// collision (content-addressed layers, files that are shared).
//
// The streaming classes are movable, not copyable, not synchronized; the functions are pure.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace forkpoint::core {

struct Hash128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const Hash128&) const = default;
  std::string to_hex() const;  // 32 lower-case digits, as `xxhsum -H128` prints it
};

struct Hash256 {
  std::array<std::uint8_t, 32> bytes{};
  auto operator<=>(const Hash256&) const = default;
  std::string to_hex() const;  // 64 lower-case digits, as `sha256sum` prints it
};

std::uint64_t xxh3_64(std::string_view bytes);
Hash128 xxh3_128(std::string_view bytes);
Hash256 sha256(std::string_view bytes);

// XXH3 with 128 bits, fed piece by piece.
class Xxh3 {
 public:
  Xxh3();
  Xxh3(Xxh3&&) noexcept;
  Xxh3& operator=(Xxh3&&) noexcept;
  ~Xxh3();

  void update(std::string_view bytes);
  Hash128 digest() const;  // of what came so far; more may follow

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// SHA-256, fed piece by piece.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();

  void update(std::string_view bytes);
  Hash256 digest() const;  // of what came so far; more may follow

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace forkpoint::core
