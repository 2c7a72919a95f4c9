// TextTemplate: text with named placeholders, checked before it is used.
//
//   FORKPOINT_ASSIGN_OR_RETURN(const TextTemplate note,
//                              TextTemplate::parse("stopped after {seconds} s", {"seconds"},
//                              "notes.time_out"));
//   note.fill({{"seconds", "30"}});
//
// "{{" and "}}" are braces. What is filled in is never looked at again: braces in it are just braces.
//
// Immutable after parse(): any number of threads may fill one.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace forkpoint::env {

class TextTemplate {
 public:
  using Values = std::map<std::string, std::string, std::less<>>;

  // `names`: the placeholders there are; `source` names the template in errors, as a config key does. Errors
  // (Boundary::config, Fault::input): `unknown_placeholder`, with the nearest name; `bad_template` for a
  // brace that is none.
  static Result<TextTemplate> parse(std::string_view text, const std::vector<std::string>& names,
                                    std::string_view source);

  // Every placeholder of the template must have a value; there may be more.
  std::string fill(const Values& values) const;

  bool uses(std::string_view name) const;

 private:
  struct Part {
    std::string text;
    bool is_placeholder = false;
  };
  std::vector<Part> parts_;
};

}  // namespace forkpoint::env
