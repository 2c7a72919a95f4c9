// Drives a fuzz target where there is no libFuzzer: with the files that are named, or with messages of our
// own.
//
//   fuzz_hermes FILE...
//   fuzz_hermes [--runs N] [--seed S]
//
// Prints the message that broke a promise, as a JSON string, before the target aborts.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/json.h"
#include "core/rng.h"
#include "tests/fuzz/message_soup.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using forkpoint::core::RngStream;

std::string current_message;

void feed(std::string message) {
  current_message = std::move(message);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(current_message.data()),
                         current_message.size());
}

// The program is ending anyway: what can fail here changes nothing.
void print_message(int) {
  std::fprintf(stderr, "message: %s\n", forkpoint::core::to_text(current_message).c_str());
}

// A soup, sometimes with a byte changed or cut off, so that not all of it is text.
std::string next_message(RngStream& rng) {
  std::string message = forkpoint::tests::message_soup(rng, 12);
  if (message.empty()) return message;
  if (rng.bernoulli(0.1)) message[rng.below(message.size())] = static_cast<char>(rng.below(256));
  if (rng.bernoulli(0.1)) message.resize(rng.below(message.size()));
  return message;
}

int feed_files(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    auto text = forkpoint::core::read_file(path);
    if (!text) {
      std::fprintf(stderr, "%s\n", text.error().to_line().c_str());
      return 2;
    }
    feed(std::move(*text));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGABRT, print_message);
  std::uint64_t runs = 100'000;
  std::uint64_t seed = 1;
  std::vector<std::string> paths;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool has_value = i + 1 < arguments.size();
    if (arguments[i] == "--runs" && has_value) {
      runs = std::strtoull(arguments[++i].c_str(), nullptr, 10);
    } else if (arguments[i] == "--seed" && has_value) {
      seed = std::strtoull(arguments[++i].c_str(), nullptr, 10);
    } else {
      paths.push_back(arguments[i]);
    }
  }
  if (!paths.empty()) return feed_files(paths);
  for (std::uint64_t run = 0; run < runs; ++run) {
    RngStream rng({.seed = seed, .purpose = "fuzz", .step = run});
    feed(next_message(rng));
  }
  std::printf("%llu messages\n", static_cast<unsigned long long>(runs));
  return 0;
}
