#include "core/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

#include "core/file.h"
#include "core/nearest.h"

namespace forkpoint::core {
namespace {

using Field = ConfigFields::Field;
using Section = std::unique_ptr<ConfigFields>;

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

Error config_error(std::string code, std::string message, std::string advice = {}) {
  return Error{.boundary = Boundary::config,
               .fault = Fault::input,
               .code = std::move(code),
               .message = std::move(message),
               .advice = std::move(advice)};
}

std::string joined(std::string_view prefix, std::string_view key) {
  return prefix.empty() ? std::string(key) : fmt::format("{}.{}", prefix, key);
}

std::string at(const std::string& source, const toml::source_position& position) {
  return fmt::format("{}:{}:{}", source, position.line, position.column);
}

void collect_paths(const ConfigFields& fields, std::string_view prefix, std::vector<std::string>& paths) {
  for (const Field& field : fields.all()) {
    const std::string path = joined(prefix, field.key);
    paths.push_back(path);
    if (const Section* section = std::get_if<Section>(&field.target)) collect_paths(**section, path, paths);
  }
}

// The known key that `path` was probably meant to be: a slip of the pen, or a key put into the wrong section.
std::string suggestion(const ConfigFields& root, const std::string& path) {
  std::vector<std::string> paths;
  collect_paths(root, "", paths);
  std::optional<std::string> meant = nearest(path, paths);
  if (!meant) {
    const std::string last = path.substr(path.rfind('.') + 1);
    const auto elsewhere = std::find_if(paths.begin(), paths.end(), [&](const std::string& known) {
      return known.substr(known.rfind('.') + 1) == last;
    });
    if (elsewhere != paths.end()) meant = *elsewhere;
  }
  return meant ? fmt::format("did you mean '{}'?", *meant) : "";
}

Error unknown_key(const ConfigFields& root, const std::string& where, const std::string& path) {
  return config_error("unknown_key", fmt::format("{}: unknown key '{}'", where, path),
                      suggestion(root, path));
}

std::string in_words(const toml::node& node) {
  std::ostringstream text;
  text << node.type();
  return text.str();
}

template <class T>
std::string in_words(const Range<T>& range) {
  const Range<T> open;
  if (range.min == open.min && range.max == open.max) return "";
  if (range.max == open.max) return fmt::format(" of at least {}", range.min);
  if (range.min == open.min) return fmt::format(" of at most {}", range.max);
  return fmt::format(" from {} to {}", range.min, range.max);
}

// Puts one value into the struct's member that the field stands for.
class Assigner {
 public:
  Assigner(const toml::node& node, std::string where, std::string path)
      : node_(node), where_(std::move(where)), path_(std::move(path)) {}

  Result<void> operator()(bool* target) const {
    const std::optional<bool> value = node_.value_exact<bool>();
    if (!value) return wrong_type("true or false");
    *target = *value;
    return {};
  }

  Result<void> operator()(const ConfigFields::Integer& target) const {
    const std::string expected = "an integer" + in_words(target.range);
    const std::optional<std::int64_t> value = node_.value_exact<std::int64_t>();
    if (!value) return wrong_type(expected);
    if (*value < target.range.min || *value > target.range.max) return out_of_range(*value, expected);
    *target.value = *value;
    return {};
  }

  Result<void> operator()(const ConfigFields::Number& target) const {
    const std::string expected = "a number" + in_words(target.range);
    const std::optional<double> value = node_.is_number() ? node_.value<double>() : std::nullopt;
    if (!value) return wrong_type(expected);
    // Written so that NaN, which compares false with everything, is out of range too.
    if (!(*value >= target.range.min && *value <= target.range.max)) return out_of_range(*value, expected);
    *target.value = *value;
    return {};
  }

  Result<void> operator()(std::string* target) const {
    const std::optional<std::string> value = node_.value_exact<std::string>();
    if (!value) return wrong_type("text in quotes");
    *target = *value;
    return {};
  }

  Result<void> operator()(std::vector<std::string>* target) const {
    const toml::array* array = node_.as_array();
    if (array == nullptr) return wrong_type("a list of texts");
    std::vector<std::string> values;
    for (const toml::node& element : *array) {
      const std::optional<std::string> value = element.value_exact<std::string>();
      if (!value) return wrong_type("a list of texts");
      values.push_back(*value);
    }
    *target = std::move(values);
    return {};
  }

  Result<void> operator()(const ConfigFields::Choice& target) const {
    const std::string expected = fmt::format("one of {}", fmt::join(target.names, ", "));
    const std::optional<std::string> value = node_.value_exact<std::string>();
    if (!value) return wrong_type(expected);
    const auto found = std::find(target.names.begin(), target.names.end(), *value);
    if (found == target.names.end()) return out_of_range(*value, expected);
    target.set(static_cast<std::size_t>(found - target.names.begin()));
    return {};
  }

  Result<void> operator()(const Section&) const { return wrong_type("a section, with keys of its own"); }

 private:
  Error wrong_type(const std::string& expected) const {
    return config_error("wrong_type", fmt::format("{}: '{}' must be {}, not of type {}", where_, path_,
                                                  expected, in_words(node_)));
  }

  template <class T>
  Error out_of_range(const T& value, const std::string& expected) const {
    return config_error("out_of_range",
                        fmt::format("{}: '{}' must be {}, not {}", where_, path_, expected, value));
  }

  const toml::node& node_;
  std::string where_;
  std::string path_;
};

Result<void> assign(const Field& field, const toml::node& node, std::string where, std::string path) {
  return std::visit(Assigner(node, std::move(where), std::move(path)), field.target);
}

const Field* find(const ConfigFields& fields, std::string_view key) {
  const auto found = std::find_if(fields.all().begin(), fields.all().end(),
                                  [&](const Field& field) { return field.key == key; });
  return found == fields.all().end() ? nullptr : &*found;
}

// Reads a parsed table into the fields and keeps the error that stands first in the file: toml++ walks a
// table in the order of its keys, people read from the top.
class TableReader {
 public:
  TableReader(const ConfigFields& root, const std::string& source) : root_(root), source_(source) {}

  void read(const ConfigFields& fields, const toml::table& table, std::string_view prefix) {
    for (const auto& [key, node] : table) {
      const std::string path = joined(prefix, key.str());
      const Field* field = find(fields, key.str());
      if (field == nullptr) {
        keep(key.source().begin, unknown_key(root_, at(source_, key.source().begin), path));
      } else if (const Section* section = std::get_if<Section>(&field->target);
                 section != nullptr && node.is_table()) {
        read(**section, *node.as_table(), path);
      } else {
        const toml::source_position position = node.source().begin;
        if (Result<void> assigned = assign(*field, node, at(source_, position), path); !assigned) {
          keep(position, std::move(assigned.error()));
        }
      }
    }
  }

  Result<void> finish() && {
    if (first_error_) return std::move(*first_error_);
    return {};
  }

 private:
  void keep(const toml::source_position& position, Error error) {
    if (first_error_ && !(position < first_position_)) return;
    first_position_ = position;
    first_error_ = std::move(error);
  }

  const ConfigFields& root_;
  const std::string& source_;
  std::optional<Error> first_error_;
  toml::source_position first_position_{};
};

bool is_written_without_quotes(const Field& field) {
  return std::holds_alternative<std::string*>(field.target) ||
         std::holds_alternative<ConfigFields::Choice>(field.target);
}

Result<void> apply_override(const ConfigFields& root, const std::string& override_text) {
  const std::string where = fmt::format("--set {}", override_text);
  const std::size_t equals = override_text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return config_error("bad_override", fmt::format("{}: expected KEY=VALUE", where));
  }
  const std::string path = override_text.substr(0, equals);
  const std::string value = override_text.substr(equals + 1);

  const ConfigFields* fields = &root;
  const Field* field = nullptr;
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t end = std::min(path.find('.', start), path.size());
    field = fields == nullptr ? nullptr : find(*fields, std::string_view(path).substr(start, end - start));
    if (field == nullptr) return unknown_key(root, where, path);
    const Section* section = std::get_if<Section>(&field->target);
    fields = section == nullptr ? nullptr : section->get();
    start = end + 1;
  }
  if (fields != nullptr) {
    return config_error("wrong_type",
                        fmt::format("{}: '{}' is a section, with keys of its own", where, path));
  }
  const bool quoted = value.starts_with('"') || value.starts_with('\'');
  if (is_written_without_quotes(*field) && !quoted) {
    return assign(*field, toml::value<std::string>(value), where, path);
  }
  try {
    const toml::table table = toml::parse(fmt::format("value = {}", value));
    if (table.size() == 1) return assign(*field, *table.get("value"), where, path);
  } catch (const toml::parse_error&) {
    // said below: the position inside a single value helps nobody
  }
  return config_error("bad_override", fmt::format("{}: the value can't be read as TOML", where));
}

// A JSON string is a TOML basic string too, but for the one character that only TOML wants escaped.
std::string toml_literal(const std::string& value) {
  std::string literal = to_text(value);
  for (std::size_t at = 0; (at = literal.find('\x7f', at)) != std::string::npos;)
    literal.replace(at, 1, "\\u007F");
  return literal;
}

std::string toml_literal(const Field& field) {
  return std::visit(
      Overloaded{
          [](bool* value) { return std::string(*value ? "true" : "false"); },
          [](const ConfigFields::Integer& integer) { return std::to_string(*integer.value); },
          [](const ConfigFields::Number& number) {
            // fmt writes the shortest text that reads back as the same number; TOML wants a point or an
            // exponent.
            const std::string text = fmt::format("{}", *number.value);
            return std::isfinite(*number.value) && text.find_first_of(".e") == std::string::npos ? text + ".0"
                                                                                                 : text;
          },
          [](std::string* value) { return toml_literal(*value); },
          [](std::vector<std::string>* values) {
            std::vector<std::string> literals;
            for (const std::string& value : *values) literals.push_back(toml_literal(value));
            return fmt::format("[{}]", fmt::join(literals, ", "));
          },
          [](const ConfigFields::Choice& choice) { return toml_literal(choice.names.at(choice.get())); },
          [](const Section&) { return std::string(); },
      },
      field.target);
}

void append_toml(const ConfigFields& fields, std::string_view prefix, std::string& text) {
  // A key after a section's header would belong to that section: plain keys come first.
  for (const Field& field : fields.all()) {
    if (std::holds_alternative<Section>(field.target)) continue;
    text += fmt::format("# {}\n{} = {}\n", field.help, field.key, toml_literal(field));
  }
  for (const Field& field : fields.all()) {
    const Section* section = std::get_if<Section>(&field.target);
    if (section == nullptr) continue;
    const std::string path = joined(prefix, field.key);
    text += fmt::format("{}# {}\n[{}]\n", text.empty() ? "" : "\n", field.help, path);
    append_toml(**section, path, text);
  }
}

}  // namespace

void ConfigFields::add(std::string key, std::string help, decltype(Field::target) target) {
  FORKPOINT_CHECK(find(*this, key) == nullptr, "two fields of one struct share a key");
  fields_.push_back(Field{.key = std::move(key), .help = std::move(help), .target = std::move(target)});
}

void ConfigFields::boolean(std::string key, bool& value, std::string help) {
  add(std::move(key), std::move(help), &value);
}
void ConfigFields::integer(std::string key, std::int64_t& value, Range<std::int64_t> range,
                           std::string help) {
  add(std::move(key), std::move(help), Integer{&value, range});
}
void ConfigFields::number(std::string key, double& value, Range<double> range, std::string help) {
  add(std::move(key), std::move(help), Number{&value, range});
}
void ConfigFields::text(std::string key, std::string& value, std::string help) {
  add(std::move(key), std::move(help), &value);
}
void ConfigFields::texts(std::string key, std::vector<std::string>& values, std::string help) {
  add(std::move(key), std::move(help), &values);
}

Result<void> load_toml(ConfigFields& fields, std::string_view text, const std::string& source,
                       const std::vector<std::string>& overrides) {
  try {
    const toml::table table = toml::parse(text);
    TableReader reader(fields, source);
    reader.read(fields, table, "");
    FORKPOINT_RETURN_IF_ERROR(std::move(reader).finish());
  } catch (const toml::parse_error& error) {
    return config_error("config_syntax",
                        fmt::format("{}: {}", at(source, error.source().begin), error.description()));
  }
  for (const std::string& override_text : overrides) {
    FORKPOINT_RETURN_IF_ERROR(apply_override(fields, override_text));
  }
  return {};
}

std::string to_toml(const ConfigFields& fields) {
  std::string text;
  append_toml(fields, "", text);
  return text;
}

Json to_json(const ConfigFields& fields) {
  Json json = Json::object();
  for (const Field& field : fields.all()) {
    json[field.key] =
        std::visit(Overloaded{
                       [](const auto* value) { return Json(*value); },
                       [](const ConfigFields::Integer& integer) { return Json(*integer.value); },
                       [](const ConfigFields::Number& number) { return Json(*number.value); },
                       [](const ConfigFields::Choice& choice) { return Json(choice.names.at(choice.get())); },
                       [](const Section& section) { return to_json(*section); },
                   },
                   field.target);
  }
  return json;
}

Result<std::string> read_config_file(const std::string& path) {
  constexpr std::uint64_t kConfigBytesMax = std::uint64_t{1} << 20;
  Result<std::string> text = read_file(path, kConfigBytesMax);
  if (!text) text.error().boundary = Boundary::config;
  return text;
}

}  // namespace forkpoint::core
