// Strong identifiers: a task's id can't be passed where a trajectory's is wanted.
//
// Text ids come from outside or from make_run_id(); number ids count from 0. Both compare, hash and
// print. Plain values.
#pragma once

#include <fmt/format.h>

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace forkpoint::core {

class Clock;

template <class Tag, class Value>
class Id {
 public:
  Id() = default;
  explicit Id(Value value) : value_(std::move(value)) {}
  const Value& value() const { return value_; }
  auto operator<=>(const Id&) const = default;

 private:
  Value value_{};
};

using TaskId = Id<struct TaskIdTag, std::string>;
using RunId = Id<struct RunIdTag, std::string>;
using TrajectoryId = Id<struct TrajectoryIdTag, std::string>;
using GroupId = Id<struct GroupIdTag, std::int64_t>;
using PolicyVersion = Id<struct PolicyVersionTag, std::int64_t>;

// A new run's id: UTC time and 32 random bits, "20261201-101530-9f3a77c2". Sorts by time; fits a file name.
RunId make_run_id(const Clock& clock);

}  // namespace forkpoint::core

template <class Tag, class Value>
struct std::hash<forkpoint::core::Id<Tag, Value>> {
  std::size_t operator()(const forkpoint::core::Id<Tag, Value>& id) const {
    return std::hash<Value>{}(id.value());
  }
};

template <class Tag, class Value>
struct fmt::formatter<forkpoint::core::Id<Tag, Value>> : fmt::formatter<Value> {
  template <class Context>
  auto format(const forkpoint::core::Id<Tag, Value>& id, Context& context) const {
    return fmt::formatter<Value>::format(id.value(), context);
  }
};
