#include "io/settings.h"

#include <gtest/gtest.h>

#include "tests/support/scratch.h"

namespace isinglass::settings_test {
namespace {

const PtDict kSettings = {
    {"seed", {int64_t{7}}}, {"learning_rate", {0.1}}, {"model", {std::string("rbm")}}};

TEST(Settings, NameWhatDiffers) {
  PtDict other = kSettings;
  other[1].second.value = 0.1 + 1e-18;  // the same double
  EXPECT_NO_THROW(require_same_settings(kSettings, other, "it"));
  other[1].second.value = 0.2;
  EXPECT_ERROR(require_same_settings(kSettings, other, "it"),
               "it belongs to a run with learning_rate = 0.1; this one has 0.2");
}

TEST(Settings, AreComparedBothWays) {
  const PtDict fewer = {kSettings[0], kSettings[2]};
  EXPECT_ERROR(require_same_settings(fewer, kSettings, "it"), "learning_rate = unknown");
  EXPECT_ERROR(require_same_settings(kSettings, fewer, "it"), "this one has unknown");
}

TEST(Settings, AsText) {
  EXPECT_EQ(settings_text(kSettings), "seed = 7, learning_rate = 0.1, model = rbm");
  EXPECT_EQ(settings_text({}), "none");
}

}  // namespace
}  // namespace isinglass::settings_test
