// Named random streams: the same (seed, purpose, step, group, candidate) gives the same numbers
// whatever thread asks and in whatever order, so that a run can be repeated and resumed.
//
//   RngStream draw({.seed = 7, .purpose = "pair_draw", .step = 12, .group = 3});
//   if (draw.bernoulli(pi)) ...
//
// Philox4x64-10, a counter-based generator: the key is (seed, purpose), the counter is
// (block, step, group, candidate), so two streams of one seed and purpose can never overlap.
// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
// The distributions are ours because the standard library's differ between implementations.
//
// Header-only and standard library only: the LibTorch rooms include it too. Not synchronized: give
// each thread its own stream, which costs nothing.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string_view>
#include <utility>

namespace forkpoint::core {

// The 256-bit block that Philox4x64-10 makes of a counter and a key.
constexpr std::array<std::uint64_t, 4> philox4x64(std::array<std::uint64_t, 4> counter,
                                                  std::array<std::uint64_t, 2> key) {
  __extension__ using Product = unsigned __int128;
  for (int round = 0; round < 10; ++round) {
    const Product product0 = Product{0xD2E7470EE14C6C93u} * counter[0];
    const Product product1 = Product{0xCA5A826395121157u} * counter[2];
    counter = {static_cast<std::uint64_t>(product1 >> 64) ^ counter[1] ^ key[0],
               static_cast<std::uint64_t>(product1),
               static_cast<std::uint64_t>(product0 >> 64) ^ counter[3] ^ key[1],
               static_cast<std::uint64_t>(product0)};
    key[0] += 0x9E3779B97F4A7C15u;
    key[1] += 0xBB67AE8584CAA73Bu;
  }
  return counter;
}

// What a stream is for and where in the run it is used. Purposes are told apart by name.
struct StreamName {
  std::uint64_t seed = 0;
  std::string_view purpose;
  std::uint64_t step = 0;
  std::uint64_t group = 0;
  std::uint64_t candidate = 0;
};

class RngStream {
 public:
  using result_type = std::uint64_t;  // with min, max and (): a standard UniformRandomBitGenerator

  constexpr explicit RngStream(const StreamName& name)
      : key_{name.seed, fnv1a(name.purpose)}, counter_{0, name.step, name.group, name.candidate} {}

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  constexpr result_type operator()() { return next(); }

  // 64 random bits.
  constexpr std::uint64_t next() {
    const std::uint64_t lane = position_ % 4;
    if (lane == 0 || !block_is_current_) {
      counter_[0] = position_ / 4;
      block_ = philox4x64(counter_, key_);
      block_is_current_ = true;
    }
    ++position_;
    return block_[lane];
  }

  // Uniform in [0, 1), a multiple of 2^-53.
  constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  // Uniform in 0..bound-1, without bias; bound >= 1. (Lemire, "Fast random integer generation in an
  // interval", 2019.)
  constexpr std::uint64_t below(std::uint64_t bound) {
    __extension__ using Product = unsigned __int128;
    const std::uint64_t threshold = (std::uint64_t{0} - bound) % bound;
    while (true) {
      const Product product = Product{next()} * bound;
      if (static_cast<std::uint64_t>(product) >= threshold) return static_cast<std::uint64_t>(product >> 64);
    }
  }

  // True with the given probability; 0 is never, 1 is always.
  constexpr bool bernoulli(double probability) { return uniform() < probability; }

  // Standard normal; takes two numbers from the stream. (Box and Muller, 1958.)
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

  // Puts a random-access range into a uniformly random order. (Fisher and Yates.)
  template <class Range>
  constexpr void shuffle(Range& range) {
    for (std::uint64_t left = std::size(range); left > 1; --left) {
      std::swap(range[left - 1], range[below(left)]);
    }
  }

  // How many 64-bit numbers were taken; a checkpoint stores it and seek() goes back to it.
  constexpr std::uint64_t position() const { return position_; }
  constexpr void seek(std::uint64_t position) {
    position_ = position;
    block_is_current_ = false;
  }

 private:
  static constexpr std::uint64_t fnv1a(std::string_view text) {
    std::uint64_t hash = 0xCBF29CE484222325u;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
    return hash;
  }

  std::array<std::uint64_t, 2> key_;
  std::array<std::uint64_t, 4> counter_;
  std::array<std::uint64_t, 4> block_{};
  std::uint64_t position_ = 0;
  bool block_is_current_ = false;
};

}  // namespace forkpoint::core
