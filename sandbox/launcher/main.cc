// forkpoint-sandboxd: the launcher. Started by the client library with its socket at descriptor 3; ends with
// it.
//
//   forkpoint-sandboxd LEVEL_MAX INIT_PROGRAM STATE_BASE...
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include "sandbox/launcher/machine.h"
#include "sandbox/launcher/server.h"
#include "sandbox/wire.h"

namespace forkpoint::sandbox {
namespace {

constexpr int kClient = 3;

Level level_from(const char* text) {
  for (const Level level : {Level::l1, Level::l2, Level::l3}) {
    if (to_string(level) == text) return level;
  }
  return Level::none;
}

std::string hello_body(const Machine& machine) {
  Writer body;
  body.u8(static_cast<std::uint8_t>(machine.level())).u64(static_cast<std::uint64_t>(getpid()));
  body.u32(static_cast<std::uint32_t>(machine.features().size()));
  for (const Feature& feature : machine.features()) {
    body.text(feature.name).boolean(feature.ok).text(feature.detail).text(feature.advice);
  }
  return body.take();
}

int launch(int count, char** arguments) {
  // Interrupts of the terminal are the client's to handle; what it ignores, sandboxes need not.
  setsid();
  for (int signal = 1; signal < NSIG; ++signal) std::signal(signal, SIG_DFL);
  std::signal(SIGPIPE, SIG_IGN);
  MachineOptions options{
      .level_max = level_from(arguments[1]), .state_bases = {}, .init_program = arguments[2]};
  for (int i = 3; i < count; ++i) options.state_bases.emplace_back(arguments[i]);
  const auto machine = Machine::open(options);
  if (!machine) {
    (void)send_message(kClient, MessageType::failed, 0, encode_error(machine.error()));
    return 1;
  }
  if (chdir((*machine)->state().path().c_str()) != 0) return 1;
  (void)send_message(kClient, MessageType::hello, 0, hello_body(**machine));
  Server(**machine, kClient).run();
  return 0;
}

}  // namespace
}  // namespace forkpoint::sandbox

int main(int count, char** arguments) {
  if (count < 4) {
    std::fputs("forkpoint-sandboxd is started by forkpoint, not by hand\n", stderr);
    return 2;
  }
  return forkpoint::sandbox::launch(count, arguments);
}
