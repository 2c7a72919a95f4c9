#include "sandbox/policy_wire.h"

#include "sandbox/exec_wire.h"
#include "sandbox/wire.h"

namespace forkpoint::sandbox {

void encode_policy(Writer& body, const SandboxPolicy& policy) {
  body.text(policy.image).text(policy.workspace);
  encode_limits(body, policy.limits);
  body.u8(static_cast<std::uint8_t>(policy.network)).u8(static_cast<std::uint8_t>(policy.shell));
  body.u8(static_cast<std::uint8_t>(policy.level_min)).text(policy.hostname);
  encode_map(body, policy.environment);
}

SandboxPolicy decode_policy(Reader& reader) {
  SandboxPolicy policy;
  policy.image = reader.text();
  policy.workspace = reader.text();
  policy.limits = decode_limits(reader);
  policy.network = reader.u8() == 0 ? Network::none : Network::host;
  policy.shell = reader.u8() == 0 ? ShellMode::fresh : ShellMode::persistent;
  policy.level_min = static_cast<Level>(reader.u8());
  policy.hostname = reader.text();
  policy.environment = decode_map(reader);
  return policy;
}

}  // namespace forkpoint::sandbox
