#include "env/action.h"

#include <gtest/gtest.h>

namespace forkpoint::env {
namespace {

TEST(ParsedMessage, IsTheObjectOfTheContract) {
  const ParsedMessage message{
      .thought = "hm", .calls = {{.tool = "bash", .arguments = {{"command", "ls"}}}}, .errors = {}};
  EXPECT_EQ(core::to_text(to_json(message)),
            R"({"calls":[{"tool":"bash","arguments":{"command":"ls"},"id":null}],"thought":"hm","errors":[],)"
            R"("error":null})");
}

TEST(ParsedMessage, ShowsItsFirstErrorAndAll) {
  const ParsedMessage message{
      .thought = "",
      .calls = {},
      .errors = {{.code = "a", .message = "A.", .call_id = "1"}, {.code = "b", .message = "B."}}};
  EXPECT_EQ(
      core::to_text(to_json(message)),
      R"({"calls":[],"thought":"","errors":[{"code":"a","message":"A.","call_id":"1"},)"
      R"({"code":"b","message":"B.","call_id":null}],"error":{"code":"a","message":"A.","call_id":"1"}})");
}

}  // namespace
}  // namespace forkpoint::env
