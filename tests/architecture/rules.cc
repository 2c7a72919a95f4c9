#include "tests/architecture/rules.h"

#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <set>

namespace forkpoint::tests {
namespace {

using Names = std::set<std::string>;

// What may stand at the beginning of an include, by folder. One chain, core <- sandbox <- env <- replay <-
// agents
// <- trainer <- cli, with learn_api on the ground beside core.
const std::map<std::string, Names>& allowed_folders() {
  static const std::map<std::string, Names> allowed = {
      {"core", {"core"}},
      {"learn_api", {"learn_api"}},
      {"sandbox", {"core", "sandbox"}},
      {"env", {"core", "sandbox", "env"}},
      {"replay", {"core", "sandbox", "env", "replay"}},
      {"agents", {"core", "sandbox", "env", "replay", "agents", "learn_api"}},
      {"trainer", {"core", "sandbox", "env", "replay", "agents", "trainer", "learn_api"}},
      {"cli", {"core", "sandbox", "env", "replay", "agents", "trainer", "learn_api", "cli"}},
      {"python", {"core", "sandbox", "env", "replay", "agents", "trainer", "learn_api", "python"}},
      {"examples", {"core", "sandbox", "env", "replay", "agents", "trainer", "learn_api", "examples"}},
      {"bench", {"core", "sandbox", "env", "replay", "agents", "trainer", "learn_api", "bench"}},
      {"tests",
       {"core", "sandbox", "env", "replay", "agents", "trainer", "learn_api", "cli", "bench", "tests"}},
  };
  return allowed;
}

// The rooms that make libforkpoint_learn.so, and which of them each may see.
const std::map<std::string, Names>& torch_rooms() {
  static const std::map<std::string, Names> rooms = {
      {"agents/model", {"agents/model"}},
      {"agents/engine", {"agents/model", "agents/engine"}},
      {"trainer/learn", {"agents/model", "agents/engine", "trainer/learn"}},
  };
  return rooms;
}

std::string top_of(const std::string& path) { return path.substr(0, path.find('/')); }

// The room of `path`, or of a folder below one ("agents/engine/fused"); empty for anything else.
std::string torch_room_of(const std::string& path) {
  for (const auto& [room, unused] : torch_rooms()) {
    if (path.starts_with(room + "/")) return room;
  }
  return "";
}

bool is_ours(const std::string& include) {
  return allowed_folders().contains(top_of(include)) && include.find('/') != std::string::npos;
}

bool arrow_is_allowed(const SourceFile& file, const std::string& include) {
  const std::string from_room = torch_room_of(file.path);
  const std::string to_room = torch_room_of(include);
  if (!from_room.empty()) {
    if (!to_room.empty()) return torch_rooms().at(from_room).contains(to_room);
    return top_of(include) == "learn_api" || include == "core/rng.h";
  }
  // Everybody else reaches LibTorch's rooms through learn_api only.
  if (!to_room.empty()) return file.top() == "tests" || file.top() == "bench";
  return allowed_folders().at(file.top()).contains(top_of(include));
}

struct Library {
  std::string name;
  std::regex include;
  std::function<bool(const SourceFile&)> at_home;
};

std::function<bool(const SourceFile&)> lives_in(std::string folder) {
  return [folder = std::move(folder)](const SourceFile& file) { return file.path.starts_with(folder + "/"); };
}

const std::vector<Library>& libraries() {
  static const std::vector<Library> list = {
      {"LibTorch", std::regex(R"((torch|ATen|c10|caffe2)/.*)"),
       [](const SourceFile& file) { return file.path == "agents/model/torch.h"; }},
      {"SQL", std::regex(R"((sqlite3|libpq-fe)\.h|pqxx/.*|SQLiteCpp/.*)"), lives_in("replay")},
      {"isolation",
       std::regex(
           R"(sched\.h|seccomp\.h|sys/(mount|capability)\.h|linux/(seccomp|landlock|filter|mount|sched)\.h)"),
       [](const SourceFile& file) {
         return file.path.starts_with("sandbox/") || file.path.starts_with("tests/sandbox/");
       }},
      {"Beast", std::regex(R"(boost/beast.*)"), lives_in("core")},
      {"libcurl", std::regex(R"(curl/.*)"), lives_in("core")},
  };
  return list;
}

struct Phrase {
  std::string name;
  std::regex code;
  std::string folder;
};

const std::vector<Phrase>& phrases() {
  static const std::vector<Phrase> list = {
      {"SQL", std::regex(R"(\b(SELECT\s+\S.*\bFROM|INSERT\s+INTO|CREATE\s+TABLE|DELETE\s+FROM|PRAGMA)\b)"),
       "replay"},
      {"isolation",
       std::regex(
           R"(\b(SYS_clone3?|SYS_pivot_root|SYS_landlock_\w+|unshare\s*\(|setns\s*\(|umount2?\s*\()|::mount\s*\()"),
       "sandbox"},
  };
  return list;
}

}  // namespace

std::vector<std::string> forbidden_arrows(const std::vector<SourceFile>& files) {
  std::vector<std::string> violations;
  for (const SourceFile& file : files) {
    if (!allowed_folders().contains(file.top())) {
      violations.push_back(file.path + ": no such folder in the house: " + file.top());
      continue;
    }
    for (const std::string& include : file.includes) {
      if (is_ours(include) && !arrow_is_allowed(file, include)) {
        violations.push_back(file.path + ": may not include " + include);
      }
    }
  }
  return violations;
}

std::vector<std::string> misplaced_libraries(const std::vector<SourceFile>& files) {
  std::vector<std::string> violations;
  for (const SourceFile& file : files) {
    for (const Library& library : libraries()) {
      for (const std::string& include : file.includes) {
        if (std::regex_match(include, library.include) && !library.at_home(file)) {
          violations.push_back(file.path + ": " + library.name + " does not belong here: " + include);
        }
      }
    }
    if (file.top() == "tests") continue;
    for (const Phrase& phrase : phrases()) {
      std::smatch match;
      if (file.top() != phrase.folder && std::regex_search(file.code, match, phrase.code)) {
        violations.push_back(file.path + ": " + phrase.name + " does not belong here: " + match.str());
      }
    }
  }
  return violations;
}

std::vector<std::string> leaking_headers(const std::vector<SourceFile>& files) {
  static const std::regex implementation(
      R"((boost|toml\+\+|spdlog|openssl|google/protobuf|curl|torch|ATen|c10)/.*|(xxhash|sqlite3|archive|zstd|pcre2|utf8proc)\.h)");
  // Headers made to be precompiled for the units that need the library.
  static const Names precompiled = {"core/asio.h", "agents/model/torch.h"};
  std::vector<std::string> violations;
  for (const SourceFile& file : files) {
    if (!file.is_header() || precompiled.contains(file.path) || file.top() == "tests") continue;
    for (const std::string& include : file.includes) {
      if (std::regex_match(include, implementation)) {
        violations.push_back(file.path + ": a header must not bind its includers to " + include);
      }
    }
  }
  return violations;
}

std::vector<std::string> include_circles(const std::vector<SourceFile>& files) {
  std::map<std::string, const SourceFile*> by_path;
  for (const SourceFile& file : files) by_path[file.path] = &file;
  std::vector<std::string> violations;
  std::vector<std::string> trail;
  Names finished;
  const std::function<void(const std::string&)> visit = [&](const std::string& path) {
    const auto start = std::find(trail.begin(), trail.end(), path);
    if (start != trail.end()) {
      std::string circle;
      for (auto step = start; step != trail.end(); ++step) circle += *step + " -> ";
      violations.push_back(circle + path);
      return;
    }
    if (finished.contains(path)) return;
    trail.push_back(path);
    for (const std::string& include : by_path.at(path)->includes) {
      if (by_path.contains(include)) visit(include);
    }
    trail.pop_back();
    finished.insert(path);
  };
  for (const SourceFile& file : files) visit(file.path);
  return violations;
}

}  // namespace forkpoint::tests
