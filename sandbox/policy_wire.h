// How a policy and the launcher's answers travel. Plain values and pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sandbox/policy.h"

namespace forkpoint::sandbox {

class Reader;
class Writer;

void encode_policy(Writer& body, const SandboxPolicy& policy);
SandboxPolicy decode_policy(Reader& reader);

}  // namespace forkpoint::sandbox
