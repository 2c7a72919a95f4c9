#include "core/toml.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>

#include "core/nearest.h"

namespace forkpoint::core {
namespace {

Error toml_error(std::string code, std::string message, std::string advice = {}) {
  return Error{.boundary = Boundary::config,
               .fault = Fault::input,
               .code = std::move(code),
               .message = std::move(message),
               .advice = std::move(advice)};
}

std::string at(const std::string& source, const TomlPosition& position) {
  return fmt::format("{}:{}:{}", source, position.line, position.column);
}

TomlPosition position_of(const toml::source_region& region) {
  return {.line = region.begin.line, .column = region.begin.column};
}

TomlValue value_of(const toml::node& node);

std::vector<TomlValue> list_of(const toml::array& array) {
  std::vector<TomlValue> list;
  for (const toml::node& element : array) list.push_back(value_of(element));
  return list;
}

std::vector<TomlEntry> table_of(const toml::table& table) {
  std::vector<TomlEntry> entries;
  for (const auto& [key, node] : table) {
    entries.push_back(
        {.key = std::string(key.str()), .key_position = position_of(key.source()), .value = value_of(node)});
  }
  // toml++ sorts by key; people read from the top.
  std::stable_sort(entries.begin(), entries.end(), [](const TomlEntry& one, const TomlEntry& other) {
    return one.key_position < other.key_position;
  });
  return entries;
}

TomlValue value_of(const toml::node& node) {
  TomlValue value{.position = position_of(node.source()), .value = TomlOther{}};
  switch (node.type()) {
    case toml::node_type::boolean: value.value = node.ref<bool>(); break;
    case toml::node_type::integer: value.value = node.ref<std::int64_t>(); break;
    case toml::node_type::floating_point: value.value = node.ref<double>(); break;
    case toml::node_type::string: value.value = node.ref<std::string>(); break;
    case toml::node_type::array: value.value = list_of(*node.as_array()); break;
    case toml::node_type::table: value.value = table_of(*node.as_table()); break;
    default: break;
  }
  return value;
}

std::string_view type_name(const TomlValue& value) {
  static constexpr std::string_view kNames[] = {"date or time", "boolean", "integer", "number",
                                                "text",         "list",    "table"};
  return kNames[value.value.index()];
}

std::string joined(std::string_view prefix, std::string_view key) {
  return prefix.empty() ? std::string(key) : fmt::format("{}.{}", prefix, key);
}

}  // namespace

Error TomlNode::wrong_type(std::string_view expected) const {
  return toml_error("wrong_type", fmt::format("{}: '{}' must be {}, not of type {}", at(*source_, position()),
                                              path_, expected, type_name(*value_)));
}

Error TomlNode::bad_value(std::string_view what, std::string advice) const {
  return toml_error("bad_value", fmt::format("{}: '{}' {}", at(*source_, position()), path_, what),
                    std::move(advice));
}

Result<bool> TomlNode::boolean() const {
  const bool* boolean = std::get_if<bool>(&value_->value);
  if (boolean == nullptr) return wrong_type("true or false");
  return *boolean;
}

Result<std::int64_t> TomlNode::integer(std::int64_t min, std::int64_t max) const {
  const std::int64_t* integer = std::get_if<std::int64_t>(&value_->value);
  if (integer == nullptr) return wrong_type("an integer");
  if (*integer < min || *integer > max) {
    return bad_value(fmt::format("must be an integer from {} to {}, not {}", min, max, *integer));
  }
  return *integer;
}

Result<double> TomlNode::number() const {
  if (const std::int64_t* integer = std::get_if<std::int64_t>(&value_->value))
    return static_cast<double>(*integer);
  const double* number = std::get_if<double>(&value_->value);
  if (number == nullptr) return wrong_type("a number");
  return *number;
}

Result<std::string> TomlNode::text() const {
  const std::string* text = std::get_if<std::string>(&value_->value);
  if (text == nullptr) return wrong_type("text in quotes");
  return *text;
}

Result<std::vector<std::string>> TomlNode::texts() const {
  if (!is_list()) return wrong_type("a list of texts");
  std::vector<std::string> texts;
  FORKPOINT_ASSIGN_OR_RETURN(const std::vector<TomlNode> nodes, list());
  for (const TomlNode& node : nodes) {
    FORKPOINT_ASSIGN_OR_RETURN(std::string text, node.text());
    texts.push_back(std::move(text));
  }
  return texts;
}

Result<std::vector<TomlNode>> TomlNode::list() const {
  const auto* list = std::get_if<std::vector<TomlValue>>(&value_->value);
  if (list == nullptr) return wrong_type("a list");
  std::vector<TomlNode> nodes;
  for (const TomlValue& element : *list) nodes.emplace_back(element, *source_, path_);
  return nodes;
}

Result<std::map<std::string, std::string>> TomlNode::text_by_key() const {
  const auto* table = std::get_if<std::vector<TomlEntry>>(&value_->value);
  if (table == nullptr) return wrong_type("a table of texts");
  std::map<std::string, std::string> texts;
  for (const TomlEntry& entry : *table) {
    FORKPOINT_ASSIGN_OR_RETURN(texts[entry.key],
                               TomlNode(entry.value, *source_, joined(path_, entry.key)).text());
  }
  return texts;
}

TomlFields::TomlFields(TomlNode table) : table_(std::move(table)) {
  if (!table_.is_table()) keep(table_.position(), table_.wrong_type("a table, with keys of its own"));
}

std::optional<TomlNode> TomlFields::find(std::string_view key) {
  known_.emplace_back(key);
  const auto* table = std::get_if<std::vector<TomlEntry>>(&table_.value().value);
  if (table == nullptr) return std::nullopt;
  const auto found =
      std::find_if(table->begin(), table->end(), [&](const TomlEntry& entry) { return entry.key == key; });
  if (found == table->end()) return std::nullopt;
  return TomlNode(found->value, table_.source(), joined(table_.path(), key));
}

void TomlFields::require(std::string_view key) {
  if (!find(key)) missing_.emplace_back(key);
}

void TomlFields::keep(const TomlPosition& position, Error error) {
  if (first_error_ && !(position < first_position_)) return;
  first_position_ = position;
  first_error_ = std::move(error);
}

Result<void> TomlFields::finish() && {
  if (const auto* table = std::get_if<std::vector<TomlEntry>>(&table_.value().value)) {
    for (const TomlEntry& entry : *table) {
      if (std::find(known_.begin(), known_.end(), entry.key) != known_.end()) continue;
      const std::optional<std::string> meant = nearest(entry.key, known_);
      keep(entry.key_position,
           toml_error("unknown_key",
                      fmt::format("{}: unknown key '{}'", at(table_.source(), entry.key_position),
                                  joined(table_.path(), entry.key)),
                      meant ? fmt::format("did you mean '{}'?", joined(table_.path(), *meant)) : ""));
    }
  }
  if (first_error_) return std::move(*first_error_);
  if (missing_.empty()) return {};
  return toml_error("missing_key", fmt::format("{}: '{}' is missing", at(table_.source(), table_.position()),
                                               joined(table_.path(), missing_[0])));
}

Result<TomlDocument> parse_toml(std::string_view text, std::string source) {
  try {
    TomlDocument document;
    const toml::table table = toml::parse(text);
    TomlValue root{.position = {.line = 1, .column = 1}, .value = table_of(table)};
    document.content_ = std::make_shared<const TomlDocument::Content>(
        TomlDocument::Content{.root = std::move(root), .source = std::move(source)});
    return document;
  } catch (const toml::parse_error& error) {
    return toml_error("config_syntax",
                      fmt::format("{}: {}", at(source, position_of(error.source())), error.description()));
  }
}

}  // namespace forkpoint::core
