// HttpHeaders: names and values in order; names compare without regard to case. Plain value.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace forkpoint::core {

class HttpHeaders {
 public:
  using Field = std::pair<std::string, std::string>;

  HttpHeaders() = default;
  HttpHeaders(std::initializer_list<Field> fields) : fields_(fields) {}

  void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }

  // The first value under that name.
  std::optional<std::string> find(std::string_view name) const;

  const std::vector<Field>& all() const { return fields_; }

 private:
  std::vector<Field> fields_;
};

}  // namespace forkpoint::core
