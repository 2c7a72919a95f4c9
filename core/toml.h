// TomlNode: one value of a TOML text, which knows where it stands and what it is called.
//
//   FORKPOINT_ASSIGN_OR_RETURN(const TomlDocument document, parse_toml(text, "shell.toml"));
//   TomlFields fields(document.root());
//   fields.read("name", suite.name, [](const TomlNode& node) { return node.text(); });
//   fields.read("case", suite.cases, read_cases);
//   FORKPOINT_RETURN_IF_ERROR(std::move(fields).finish());
//
// For files with lists of tables; what is one struct with fixed keys is read by config.h. Errors
// (Boundary::config, Fault::input) give file, line, column and the path of the key: `config_syntax`,
// `unknown_key` with the nearest known key, `wrong_type`, `bad_value`, `missing_key`. Immutable once parsed;
// nodes live as long as their document.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/result.h"

namespace forkpoint::core {

struct TomlPosition {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  auto operator<=>(const TomlPosition&) const = default;
};

struct TomlEntry;
struct TomlOther {};  // dates and times, which none of our formats has a use for

struct TomlValue {
  TomlPosition position;
  std::variant<TomlOther, bool, std::int64_t, double, std::string, std::vector<TomlValue>,
               std::vector<TomlEntry>>
      value;
};

struct TomlEntry {
  std::string key;
  TomlPosition key_position;
  TomlValue value;
};

class TomlNode {
 public:
  TomlNode(const TomlValue& value, const std::string& source, std::string path)
      : value_(&value), source_(&source), path_(std::move(path)) {}

  bool is_boolean() const { return std::holds_alternative<bool>(value_->value); }
  bool is_integer() const { return std::holds_alternative<std::int64_t>(value_->value); }
  bool is_number() const { return is_integer() || std::holds_alternative<double>(value_->value); }
  bool is_text() const { return std::holds_alternative<std::string>(value_->value); }
  bool is_list() const { return std::holds_alternative<std::vector<TomlValue>>(value_->value); }
  bool is_table() const { return std::holds_alternative<std::vector<TomlEntry>>(value_->value); }

  // The value as what it must be, or the error that it is not.
  Result<bool> boolean() const;
  Result<std::int64_t> integer(std::int64_t min, std::int64_t max) const;
  Result<double> number() const;  // an integer is one too
  Result<std::string> text() const;
  Result<std::vector<std::string>> texts() const;
  Result<std::vector<TomlNode>> list() const;
  Result<std::map<std::string, std::string>> text_by_key() const;

  const TomlValue& value() const { return *value_; }
  const std::string& source() const { return *source_; }
  const std::string& path() const { return path_; }  // "case.step.run"; empty for the root
  const TomlPosition& position() const { return value_->position; }

  // "FILE:LINE:COLUMN: 'PATH' must be EXPECTED, not of type integer".
  Error wrong_type(std::string_view expected) const;
  // "FILE:LINE:COLUMN: 'PATH' WHAT", for what is of the right type and yet can't be.
  Error bad_value(std::string_view what, std::string advice = {}) const;

 private:
  const TomlValue* value_;
  const std::string* source_;
  std::string path_;
};

// Reads the keys of one table. A key that was asked for is known; finish() says which are not, and keeps the
// error that stands first in the file.
class TomlFields {
 public:
  explicit TomlFields(TomlNode table);  // not a table: finish() gives the error, the rest does nothing

  // The node of a key, if it is there.
  std::optional<TomlNode> find(std::string_view key);

  // Puts convert(node), a Result of what `target` can be assigned from, into `target` if the key is there.
  template <class Target, class Convert>
  void read(std::string_view key, Target& target, const Convert& convert) {
    const std::optional<TomlNode> node = find(key);
    if (!node) return;
    auto converted = convert(*node);
    if (converted.has_value()) {
      target = std::move(*converted);
    } else {
      keep(node->position(), std::move(converted.error()));
    }
  }

  // The key must be there. That it is not is said when nothing else is wrong: it may be there, misspelled.
  void require(std::string_view key);
  void keep(const TomlPosition& position, Error error);

  const TomlNode& table() const { return table_; }
  Result<void> finish() &&;

 private:
  TomlNode table_;
  std::vector<std::string> known_;
  std::vector<std::string> missing_;
  std::optional<Error> first_error_;
  TomlPosition first_position_{};
};

// Owns what the nodes point to; can be moved, its nodes stay good.
class TomlDocument {
 public:
  TomlNode root() const { return TomlNode(content_->root, content_->source, ""); }

 private:
  friend Result<TomlDocument> parse_toml(std::string_view text, std::string source);
  struct Content {
    TomlValue root;
    std::string source;
  };
  std::shared_ptr<const Content> content_;
};

// `source` names the text in errors.
Result<TomlDocument> parse_toml(std::string_view text, std::string source);

}  // namespace forkpoint::core
