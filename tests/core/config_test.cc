#include "core/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/temp_dir.h"

namespace forkpoint::core {
namespace {

using ::testing::HasSubstr;

enum class Design { poisson, two_stage };

struct PairConfig {
  bool enabled = false;
  double pi_min = 0.08;
  Design design = Design::poisson;
  bool operator==(const PairConfig&) const = default;
};

struct SampleConfig {
  std::int64_t steps = 100;
  std::string name = "run";
  std::vector<std::string> tags;
  PairConfig pair = {};
  bool operator==(const SampleConfig&) const = default;
};

void describe(ConfigFields& fields, PairConfig& config) {
  fields.boolean("enabled", config.enabled, "draw who is completed");
  fields.number("pi_min", config.pi_min, {.min = 0.0, .max = 1.0}, "least inclusion probability");
  fields.choice("design", config.design, {{"poisson", Design::poisson}, {"two_stage", Design::two_stage}},
                "the rule of the draw");
}

void describe(ConfigFields& fields, SampleConfig& config) {
  fields.integer("steps", config.steps, {.min = 1}, "learner steps");
  fields.text("name", config.name, "name of the run");
  fields.texts("tags", config.tags, "free labels");
  fields.section("pair", config.pair, "which candidates are completed");
}

Error error_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  SampleConfig config;
  const Result<void> parsed = parse_config(config, text, "run.toml", overrides);
  EXPECT_FALSE(parsed.has_value()) << text;
  return parsed ? Error{.code = "", .message = ""} : parsed.error();
}

SampleConfig config_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  SampleConfig config;
  const Result<void> parsed = parse_config(config, text, "run.toml", overrides);
  EXPECT_TRUE(parsed.has_value()) << (parsed ? "" : parsed.error().to_line());
  return config;
}

TEST(Config, KeepsDefaults_WhenTheTextIsEmpty) { EXPECT_EQ(config_of(""), SampleConfig{}); }

TEST(Config, ReadsEveryKindOfField) {
  const SampleConfig config = config_of(
      "steps = 7\nname = \"first\"\ntags = ['a', 'b']\n[pair]\nenabled = true\npi_min = 0.5\ndesign = "
      "'two_stage'\n");
  const SampleConfig expected{.steps = 7,
                              .name = "first",
                              .tags = {"a", "b"},
                              .pair = {.enabled = true, .pi_min = 0.5, .design = Design::two_stage}};
  EXPECT_EQ(config, expected);
}

TEST(Config, TakesAnIntegerWhereANumberIsWanted) { EXPECT_EQ(config_of("pair.pi_min = 1").pair.pi_min, 1.0); }

TEST(Config, NamesPlaceAndNearestKey_WhenAKeyIsUnknown) {
  const Error error = error_of("steps = 3\n\n[pair]\n  pi_mim = 0.1\n");
  EXPECT_EQ(error.boundary, Boundary::config);
  EXPECT_EQ(error.fault, Fault::input);
  EXPECT_EQ(error.code, "unknown_key");
  EXPECT_EQ(error.to_line(), "run.toml:4:3: unknown key 'pair.pi_mim' (did you mean 'pair.pi_min'?)");
}

TEST(Config, SuggestsTheRightSection_WhenAKeyStandsInTheWrongOne) {
  EXPECT_EQ(error_of("design = 'poisson'").to_line(),
            "run.toml:1:1: unknown key 'design' (did you mean 'pair.design'?)");
}

TEST(Config, SuggestsNothing_WhenNoKeyIsNear) {
  EXPECT_EQ(error_of("zzzzzz = 1").to_line(), "run.toml:1:1: unknown key 'zzzzzz'");
}

TEST(Config, SaysWhatItExpected_WhenATypeIsWrong) {
  EXPECT_EQ(error_of("steps = 'many'").to_line(),
            "run.toml:1:9: 'steps' must be an integer of at least 1, not of type string");
  EXPECT_EQ(error_of("steps = 1.5").code, "wrong_type");
  EXPECT_EQ(error_of("name = 3").code, "wrong_type");
  EXPECT_EQ(error_of("tags = ['a', 1]").code, "wrong_type");
  EXPECT_EQ(error_of("tags = 'a'").code, "wrong_type");
  EXPECT_EQ(error_of("pair.enabled = 1").code, "wrong_type");
  EXPECT_EQ(error_of("pair.design = 1").code, "wrong_type");
  EXPECT_EQ(error_of("pair = 1").code, "wrong_type");
  EXPECT_EQ(error_of("[steps]\nx = 1").code, "wrong_type");
}

TEST(Config, SaysTheRange_WhenAValueLiesOutside) {
  EXPECT_EQ(error_of("steps = 0").to_line(), "run.toml:1:9: 'steps' must be an integer of at least 1, not 0");
  EXPECT_EQ(error_of("[pair]\npi_min = 1.5").to_line(),
            "run.toml:2:10: 'pair.pi_min' must be a number from 0 to 1, not 1.5");
  EXPECT_EQ(error_of("pair.pi_min = nan").code, "out_of_range");
  EXPECT_EQ(error_of("pair.design = 'bernoulli'").to_line(),
            "run.toml:1:15: 'pair.design' must be one of poisson, two_stage, not bernoulli");
}

TEST(Config, ReportsTheErrorThatStandsFirst) {
  EXPECT_THAT(error_of("zz = 1\nsteps = 0\naa = 2\n").to_line(), HasSubstr("run.toml:1:1: unknown key 'zz'"));
}

TEST(Config, GivesThePosition_WhenTheTextIsNotToml) {
  const Error error = error_of("steps = 3\nname = \"open\n");
  EXPECT_EQ(error.code, "config_syntax");
  EXPECT_THAT(error.message, HasSubstr("run.toml:2:"));
  EXPECT_EQ(error_of("steps = 1\nsteps = 2\n").code, "config_syntax");
}

TEST(Config, OverridesInOrder_AfterTheText) {
  const SampleConfig config = config_of("steps = 7", {"steps=8", "steps=9", "name=x = y", "tags=['c']",
                                                      "pair.design=two_stage", "pair.pi_min=1e-3"});
  const SampleConfig expected{
      .steps = 9, .name = "x = y", .tags = {"c"}, .pair = {.pi_min = 1e-3, .design = Design::two_stage}};
  EXPECT_EQ(config, expected);
  EXPECT_EQ(config_of("", {"name='quoted'"}).name, "quoted");
  EXPECT_EQ(config_of("", {"name="}).name, "");
}

TEST(Config, RefusesABadOverride) {
  EXPECT_EQ(error_of("", {"pair.pi_mim=1"}).to_line(),
            "--set pair.pi_mim=1: unknown key 'pair.pi_mim' (did you mean 'pair.pi_min'?)");
  EXPECT_EQ(error_of("", {"steps"}).to_line(), "--set steps: expected KEY=VALUE");
  EXPECT_EQ(error_of("", {"=1"}).code, "bad_override");
  EXPECT_EQ(error_of("", {"steps="}).code, "bad_override");
  EXPECT_EQ(error_of("", {"steps=1\nname='smuggled'"}).code, "bad_override");
  EXPECT_EQ(error_of("", {"steps=0"}).code, "out_of_range");
  EXPECT_EQ(error_of("", {"pair=1"}).code, "wrong_type");
  EXPECT_EQ(error_of("", {"steps.deeper=1"}).code, "unknown_key");
  EXPECT_EQ(error_of("", {"pair.=1"}).code, "unknown_key");
}

TEST(Config, PrintsItselfWithHelp) {
  EXPECT_EQ(config_to_toml(SampleConfig{.tags = {"a"}}),
            "# learner steps\nsteps = 100\n# name of the run\nname = \"run\"\n# free labels\ntags = [\"a\"]\n"
            "\n# which candidates are completed\n[pair]\n# draw who is completed\nenabled = false\n"
            "# least inclusion probability\npi_min = 0.08\n# the rule of the draw\ndesign = \"poisson\"\n");
}

TEST(Config, IsAlsoJson) {
  EXPECT_EQ(
      to_text(config_to_json(SampleConfig{})),
      R"({"steps":100,"name":"run","tags":[],"pair":{"enabled":false,"pi_min":0.08,"design":"poisson"}})");
}

// Whatever a config holds, what is printed reads back as the same config.
RC_GTEST_PROP(Config, ReadsBackWhatItPrints, ()) {
  const auto text = [] {
    return rc::gen::container<std::string>(
        rc::gen::map(rc::gen::inRange(0, 128), [](int c) { return static_cast<char>(c); }));
  };
  SampleConfig config;
  config.steps = *rc::gen::inRange<std::int64_t>(1, std::numeric_limits<std::int64_t>::max());
  config.name = *text();
  config.tags = *rc::gen::container<std::vector<std::string>>(text());
  config.pair.enabled = *rc::gen::arbitrary<bool>();
  config.pair.pi_min = std::abs(std::fmod(*rc::gen::arbitrary<double>(), 1.0));
  config.pair.design = *rc::gen::element(Design::poisson, Design::two_stage);

  SampleConfig again;
  const Result<void> parsed = parse_config(again, config_to_toml(config), "printed");
  if (!parsed) RC_FAIL(parsed.error().to_line() + "\n" + config_to_toml(config));
  RC_ASSERT(again == config);
}

TEST(Config, IsReadFromAFile) {
  const TempDir directory = TempDir::create("config").value();
  const std::string path = directory.path() / "run.toml";
  ASSERT_TRUE(write_file(path, "steps = 5\n").has_value());
  SampleConfig config;
  ASSERT_TRUE(load_config(config, path, {"name=n"}).has_value());
  EXPECT_EQ(config.steps, 5);
  EXPECT_EQ(config.name, "n");
}

TEST(Config, IsAnInputError_WhenTheFileIsMissing) {
  SampleConfig config;
  const Result<void> loaded = load_config(config, "/nonexistent/run.toml");
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().boundary, Boundary::config);
  EXPECT_EQ(loaded.error().fault, Fault::input);
  EXPECT_EQ(loaded.error().to_line(), "/nonexistent/run.toml: no such file");
}

}  // namespace
}  // namespace forkpoint::core
