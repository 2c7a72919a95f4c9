// xml_function: a function in tags; what SWE-agent, OpenHands and R2E let models write.
//
//   <function=execute_bash>
//   <parameter=command>ls -la</parameter>
//   </function>
//
// The first function is the call; all further ones must be well-formed too, or the message is refused. Values
// are text (tagged_function.h). A server that stops at "</function" leaves the tail out: where "</" has been
// written it can only be that tag; where nothing has, the function counts as closed only with Finish::stop.
// Nothing inside <think> is a call.
#pragma once

#include <memory>

#include "env/action_parser.h"

namespace forkpoint::env {

std::unique_ptr<ActionParser> make_xml_function();

}  // namespace forkpoint::env
