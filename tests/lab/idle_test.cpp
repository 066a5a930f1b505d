// Options that would have no effect are refused.
#include "lab/spec/idle.h"

#include <gtest/gtest.h>

#include "lab/spec/field.h"
#include "tests/support/scratch.h"

namespace isinglass::idle_test {
namespace {

void check(const std::string& command, const OptionValues& given, OptionValues more = {}) {
  more.insert(given.begin(), given.end());
  refuse_idle(command, given, more);
}

const std::string kData = "images.pt";

TEST(Idle, OptionsAreRefusedWithoutWhatTheyGoWith) {
  const OptionValue n = int64_t{4}, none = int64_t{0};
  EXPECT_ERROR(check("train", {{"fresh-iters", n}}), "fresh-iters would have no effect");
  EXPECT_ERROR(check("train", {{"fresh-iters", n}, {"fresh", none}}), "fresh is 0");
  EXPECT_NO_THROW(check("train", {{"fresh-iters", n}, {"fresh", n}}));
  EXPECT_ERROR(check("train", {{"evaluate-steps", n}, {"evaluate-every", none}}),
               "evaluate-steps would have no effect");
  EXPECT_NO_THROW(check("train", {{"evaluate-steps", n}}));
  EXPECT_NO_THROW(check("train", {{"evaluate-steps", n}, {"evaluate-every", n}}));
  EXPECT_ERROR(check("train", {{"channels", n}, {"model", std::string("rbm")}}),
               "applies to a resnet");
  EXPECT_ERROR(check("train", {{"channels", n}, {"objective", std::string("cd")}}),
               "applies to a resnet");
  EXPECT_NO_THROW(check("train", {{"channels", n}}));
  EXPECT_ERROR(check("train", {{"channels", n}, {"bounds", std::string("0,1")}}),
               "applies to a resnet");
  EXPECT_ERROR(check("train", {{"channels", n}, {"sampler", std::string("mala")}}),
               "applies to a resnet");
  EXPECT_ERROR(check("train", {{"hidden", n}}), "applies to an rbm");
  EXPECT_NO_THROW(check("train", {{"hidden", n}, {"objective", std::string("cd")}}));
  EXPECT_ERROR(check("sample", {{"dataset", kData}}), "dataset would have no effect");
  EXPECT_NO_THROW(check("sample", {{"dataset", kData}, {"init", std::string("data")}}));
  EXPECT_NO_THROW(check("sample", {{"dataset", kData}, {"instance", std::string("logistic")}}));
  for (const char* command : {"sample", "evaluate"}) {
    EXPECT_ERROR(check(command, {{"levels", n}}), "levels would have no effect");
    EXPECT_ERROR(check(command, {{"data-dir", kData}}), "data-dir would have no effect");
  }
  EXPECT_NO_THROW(check("evaluate", {{"levels", n}, {"data-dir", kData}, {"dataset", kData}}));
}

// A saved configuration contains the defaults of all options, and does not count as given by the
// user.
TEST(Idle, OptionsOfAConfigurationAreNot) {
  EXPECT_NO_THROW(check("train", {{"model", std::string("rbm")}},
                        {{"channels", int64_t{64}}, {"fresh-iters", int64_t{50}}}));
  EXPECT_NO_THROW(check("train", {{"fresh-iters", int64_t{50}}}, {{"fresh", int64_t{5}}}));
}

}  // namespace
}  // namespace isinglass::idle_test
