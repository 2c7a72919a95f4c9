#include "core/toml.h"

#include <gtest/gtest.h>

#include <string>

namespace forkpoint::core {
namespace {

struct Dish {
  std::string name;
  std::int64_t minutes = 0;
};

Result<Dish> read_dish(const TomlNode& node) {
  Dish dish;
  TomlFields fields(node);
  fields.require("name");
  fields.read("name", dish.name, [](const TomlNode& value) { return value.text(); });
  fields.read("minutes", dish.minutes, [](const TomlNode& value) { return value.integer(1, 100); });
  FORKPOINT_RETURN_IF_ERROR(std::move(fields).finish());
  return dish;
}

Result<std::vector<Dish>> read_menu(const std::string& text) {
  FORKPOINT_ASSIGN_OR_RETURN(const TomlDocument document, parse_toml(text, "menu.toml"));
  std::vector<Dish> dishes;
  TomlFields fields(document.root());
  fields.read("dish", dishes, [](const TomlNode& node) -> Result<std::vector<Dish>> {
    std::vector<Dish> read;
    FORKPOINT_ASSIGN_OR_RETURN(const std::vector<TomlNode> nodes, node.list());
    for (const TomlNode& element : nodes) {
      FORKPOINT_ASSIGN_OR_RETURN(Dish dish, read_dish(element));
      read.push_back(std::move(dish));
    }
    return read;
  });
  FORKPOINT_RETURN_IF_ERROR(std::move(fields).finish());
  return dishes;
}

Error error_of(const std::string& text) {
  const Result<std::vector<Dish>> menu = read_menu(text);
  EXPECT_FALSE(menu.has_value()) << text;
  return menu ? Error{.code = "", .message = ""} : menu.error();
}

TEST(Toml, ReadsListsOfTablesInOrder) {
  const std::vector<Dish> menu =
      read_menu("[[dish]]\nname = 'soup'\n[[dish]]\nname = 'cake'\nminutes = 40\n").value();
  ASSERT_EQ(menu.size(), 2u);
  EXPECT_EQ(menu[0].name, "soup");
  EXPECT_EQ(menu[1].minutes, 40);
}

TEST(Toml, SaysWhereAndWhatWasMeant_WhenAKeyIsUnknown) {
  const Error error = error_of("[[dish]]\nname = 'soup'\n  minuets = 3\n");
  EXPECT_EQ(error.code, "unknown_key");
  EXPECT_EQ(error.to_line(), "menu.toml:3:3: unknown key 'dish.minuets' (did you mean 'dish.minutes'?)");
  EXPECT_EQ(error_of("drinks = 1").to_line(), "menu.toml:1:1: unknown key 'drinks'");
}

TEST(Toml, SaysWhatAValueMustBe) {
  EXPECT_EQ(error_of("[[dish]]\nname = 3").message,
            "menu.toml:2:8: 'dish.name' must be text in quotes, not of type integer");
  EXPECT_EQ(error_of("[[dish]]\nname = 'a'\nminutes = 101").message,
            "menu.toml:3:11: 'dish.minutes' must be an integer from 1 to 100, not 101");
  EXPECT_EQ(error_of("[[dish]]\nname = 'a'\nminutes = 1979-05-27").message,
            "menu.toml:3:11: 'dish.minutes' must be an integer, not of type date or time");
  EXPECT_EQ(error_of("dish = 1").message, "menu.toml:1:8: 'dish' must be a list, not of type integer");
  EXPECT_EQ(error_of("dish = [1]").message,
            "menu.toml:1:9: 'dish' must be a table, with keys of its own, not of type integer");
}

TEST(Toml, MissesKeys_WhenNothingElseIsWrong) {
  EXPECT_EQ(error_of("[[dish]]\nnaem = 'x'").to_line(),
            "menu.toml:2:1: unknown key 'dish.naem' (did you mean 'dish.name'?)");
  EXPECT_EQ(error_of("\n[[dish]]\nminutes = 4").message, "menu.toml:2:1: 'dish.name' is missing");
}

TEST(Toml, GivesTheErrorThatStandsFirst) {
  EXPECT_EQ(error_of("[[dish]]\nzzz = 1\nname = 3").code, "unknown_key");
  EXPECT_EQ(error_of("[[dish]]\nname = 3\nzzz = 1").code, "wrong_type");
}

TEST(Toml, GivesThePlaceOfASyntaxError) {
  const Error error = error_of("[[dish]]\nname = \n");
  EXPECT_EQ(error.code, "config_syntax");
  EXPECT_TRUE(error.message.starts_with("menu.toml:2:")) << error.message;
}

TEST(Toml, ReadsTextsAndTablesOfTexts) {
  const TomlDocument document =
      parse_toml("a = ['x', 'y']\nb = {'k 1' = 'v'}\nc = [1]\nd = {k = 1}", "t").value();
  TomlFields fields(document.root());
  EXPECT_EQ(fields.find("a")->texts().value(), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(fields.find("b")->text_by_key().value(), (std::map<std::string, std::string>{{"k 1", "v"}}));
  EXPECT_EQ(fields.find("c")->texts().error().message,
            "t:3:6: 'c' must be text in quotes, not of type integer");
  EXPECT_EQ(fields.find("d")->text_by_key().error().message,
            "t:4:10: 'd.k' must be text in quotes, not of type integer");
}

}  // namespace
}  // namespace forkpoint::core
