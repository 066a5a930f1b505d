// Errors about options name them without a front end's spelling.
#include "io/error.h"

#include <gtest/gtest.h>

namespace isinglass::error_test {
namespace {

TEST(OptionErrors, AreSpelledByWhoeverShowsThem) {
  try {
    require_option(false, "chains", 7, "it must be a multiple of `group` {}", 2);
    FAIL();
  } catch (const OptionError& error) {
    EXPECT_EQ(error.option, "chains");
    EXPECT_EQ(error.value, "7");
    EXPECT_STREQ(error.what(), "chains is 7; it must be a multiple of group 2");
    EXPECT_EQ(error.sentence("--"), "--chains is 7; it must be a multiple of --group 2");
    EXPECT_EQ(error.sentence("", "="), "chains= is 7; it must be a multiple of group= 2");
  }
}

TEST(OptionErrors, MayBeAWholeSentence) {
  try {
    require_options(false, "{} does not go with `step-size` {}", "x", 0.5);
    FAIL();
  } catch (const OptionError& error) {
    EXPECT_EQ(error.option, "step-size");
    EXPECT_EQ(error.value, "");
    EXPECT_EQ(error.sentence("--"), "x does not go with --step-size 0.5");
  }
}

TEST(OptionErrors, LeaveOtherQuotesAlone) {
  EXPECT_EQ(spell_options("a `b c` `d` `", "--"), "a `b c` --d `");
  EXPECT_EQ(spell_options("``", "--"), "``");
  EXPECT_EQ(first_option("none"), "");
}

}  // namespace
}  // namespace isinglass::error_test
