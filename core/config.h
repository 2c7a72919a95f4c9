// Config: a TOML file read into plain structs, each of which names its own keys.
//
//   struct LogConfig {
//     LogLevel level = LogLevel::info;
//     bool json = false;
//   };
//   void describe(ConfigFields& fields, LogConfig& config) {
//     fields.choice("level", config.level, {{"info", LogLevel::info}, ...}, "least serious message shown");
//     fields.boolean("json", config.json, "log lines are JSON objects");
//   }
//
//   LogConfig config;
//   FORKPOINT_RETURN_IF_ERROR(load_config(config, "run.toml", {"level=debug"}));
//   write_file("resolved.toml", config_to_toml(config));
//
// The one description serves reading, `--set key=value`, printing and the list of known keys. A struct's
// member initializers are the defaults. An unknown key, a wrong type and a value out of range are errors
// that give file, line, column and, where there is one, the nearest known key; nothing is ever ignored.
//
// Not synchronized: load before other threads start, then share as const.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/check.h"
#include "core/json.h"
#include "core/result.h"

namespace forkpoint::core {

// The values a number may have, ends included.
template <class T>
struct Range {
  T min = std::numeric_limits<T>::lowest();
  T max = std::numeric_limits<T>::max();
};

// The keys of one struct, in the order in which they are printed. Holds references to the struct's members:
// it must not outlive the struct.
class ConfigFields {
 public:
  // One of a fixed set of names, whatever enumeration stands behind it.
  struct Choice {
    std::vector<std::string> names;
    std::function<std::size_t()> get;  // index of the current name
    std::function<void(std::size_t)> set;
  };
  struct Integer {
    std::int64_t* value;
    Range<std::int64_t> range;
  };
  struct Number {
    double* value;
    Range<double> range;
  };
  struct Field {
    std::string key;
    std::string help;
    std::variant<bool*, Integer, Number, std::string*, std::vector<std::string>*, Choice,
                 std::unique_ptr<ConfigFields>>
        target;
  };

  void boolean(std::string key, bool& value, std::string help);
  void integer(std::string key, std::int64_t& value, Range<std::int64_t> range, std::string help);
  void number(std::string key, double& value, Range<double> range, std::string help);
  void text(std::string key, std::string& value, std::string help);
  void texts(std::string key, std::vector<std::string>& values, std::string help);

  template <class Enum>
  void choice(std::string key, Enum& value,
              std::initializer_list<std::pair<std::string_view, std::type_identity_t<Enum>>> options,
              std::string help) {
    Choice choice;
    std::vector<Enum> values;
    for (const auto& [name, option] : options) {
      choice.names.emplace_back(name);
      values.push_back(option);
    }
    choice.get = [&value, values] {
      const auto found = std::find(values.begin(), values.end(), value);
      FORKPOINT_CHECK(found != values.end(), "a choice's value is none of its options");
      return static_cast<std::size_t>(found - values.begin());
    };
    choice.set = [&value, values](std::size_t index) { value = values.at(index); };
    add(std::move(key), std::move(help), std::move(choice));
  }

  // A nested table; `describe(ConfigFields&, Struct&)` is found beside the struct.
  template <class Struct>
  void section(std::string key, Struct& value, std::string help) {
    auto fields = std::make_unique<ConfigFields>();
    describe(*fields, value);
    add(std::move(key), std::move(help), std::move(fields));
  }

  const std::vector<Field>& all() const { return fields_; }

 private:
  void add(std::string key, std::string help, decltype(Field::target) target);

  std::vector<Field> fields_;
};

// The functions behind the templates below, on a struct's description.
Result<void> load_toml(ConfigFields& fields, std::string_view text, const std::string& source,
                       const std::vector<std::string>& overrides);
Result<std::string> read_config_file(const std::string& path);
std::string to_toml(const ConfigFields& fields);
Json to_json(const ConfigFields& fields);

template <class Struct>
ConfigFields fields_of(Struct& config) {
  ConfigFields fields;
  describe(fields, config);
  return fields;
}

// Puts the TOML text into `config`, then each override "key.path=value" in order. An override's value is
// written as in TOML; text and choices need no quotes. `source` names the text in errors. Errors
// (Boundary::config, Fault::input): config_syntax, unknown_key, wrong_type, out_of_range, bad_override. After
// an error `config` holds a mixture and must not be used.
template <class Struct>
Result<void> parse_config(Struct& config, std::string_view text, const std::string& source,
                          const std::vector<std::string>& overrides = {}) {
  ConfigFields fields = fields_of(config);
  return load_toml(fields, text, source, overrides);
}

// The same from a file; also the errors of read_file().
template <class Struct>
Result<void> load_config(Struct& config, const std::string& path,
                         const std::vector<std::string>& overrides = {}) {
  FORKPOINT_ASSIGN_OR_RETURN(const std::string text, read_config_file(path));
  return parse_config(config, text, path, overrides);
}

// The whole config, defaults included, with the help of each key as a comment; reading it back gives the same
// config.
template <class Struct>
std::string config_to_toml(const Struct& config) {
  Struct copy = config;  // a description holds references it could write to
  return to_toml(fields_of(copy));
}

template <class Struct>
Json config_to_json(const Struct& config) {
  Struct copy = config;
  return to_json(fields_of(copy));
}

}  // namespace forkpoint::core
