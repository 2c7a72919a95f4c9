// The fuzz target of one format, which the build names in FORKPOINT_FUZZ_FORMAT. libFuzzer's interface, so
// that clang's fuzzer and standalone_main.cc can both drive it.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "env/action_formats.h"
#include "tests/fuzz/action_parser_check.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto parser = forkpoint::env::make_action_parser(FORKPOINT_FUZZ_FORMAT).value();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto broken = forkpoint::tests::broken_promise(*parser, text)) {
    std::fprintf(stderr, "%s: %s\n", FORKPOINT_FUZZ_FORMAT, broken->c_str());
    std::abort();
  }
  return 0;
}
