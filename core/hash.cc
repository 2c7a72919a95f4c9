#include "core/hash.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>
#include <xxhash.h>

#include "core/check.h"

namespace forkpoint::core {
namespace {

Hash128 from_xxh(XXH128_hash_t hash) { return {.high = hash.high64, .low = hash.low64}; }

}  // namespace

std::string Hash128::to_hex() const { return fmt::format("{:016x}{:016x}", high, low); }
std::string Hash256::to_hex() const { return fmt::format("{:02x}", fmt::join(bytes, "")); }

std::uint64_t xxh3_64(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }
Hash128 xxh3_128(std::string_view bytes) { return from_xxh(XXH3_128bits(bytes.data(), bytes.size())); }

Hash256 sha256(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.digest();
}

struct Xxh3::State {
  State() : raw(XXH3_createState()) {
    FORKPOINT_CHECK(raw != nullptr && XXH3_128bits_reset(raw) == XXH_OK, "XXH3 has no state");
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { XXH3_freeState(raw); }
  XXH3_state_t* raw;
};

Xxh3::Xxh3() : state_(std::make_unique<State>()) {}
Xxh3::Xxh3(Xxh3&&) noexcept = default;
Xxh3& Xxh3::operator=(Xxh3&&) noexcept = default;
Xxh3::~Xxh3() = default;

void Xxh3::update(std::string_view bytes) { XXH3_128bits_update(state_->raw, bytes.data(), bytes.size()); }
Hash128 Xxh3::digest() const { return from_xxh(XXH3_128bits_digest(state_->raw)); }

struct Sha256::State {
  State() : raw(EVP_MD_CTX_new()) {
    FORKPOINT_CHECK(raw != nullptr && EVP_DigestInit_ex(raw, EVP_sha256(), nullptr) == 1,
                    "libcrypto has no SHA-256");
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { EVP_MD_CTX_free(raw); }
  EVP_MD_CTX* raw;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::update(std::string_view bytes) {
  FORKPOINT_CHECK(EVP_DigestUpdate(state_->raw, bytes.data(), bytes.size()) == 1, "SHA-256 update failed");
}

Hash256 Sha256::digest() const {
  // Finishing ends a context, so it is done on a copy.
  const State copy;
  Hash256 hash;
  FORKPOINT_CHECK(EVP_MD_CTX_copy_ex(copy.raw, state_->raw) == 1 &&
                      EVP_DigestFinal_ex(copy.raw, hash.bytes.data(), nullptr) == 1,
                  "SHA-256 digest failed");
  return hash;
}

}  // namespace forkpoint::core
