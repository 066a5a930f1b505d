// JSON is written whatever bytes its texts hold.
#include "io/json.h"

#include <gtest/gtest.h>

namespace isinglass::json_test {
namespace {

TEST(Json, BytesThatAreNoTextAreReplaced) {
  const nlohmann::ordered_json json = {{"file", "a\xff.pt"}, {"cut", "\xc3"}, {"good", "\u00e9"}};
  EXPECT_EQ(text_of(json), "{\"file\":\"a\ufffd.pt\",\"cut\":\"\ufffd\",\"good\":\"\u00e9\"}");
  EXPECT_EQ(text_of(nlohmann::json{{"a", 1}}, 1), "{\n \"a\": 1\n}");
  EXPECT_EQ(nlohmann::json::parse(text_of(json))["file"], "a\ufffd.pt");
}

}  // namespace
}  // namespace isinglass::json_test
