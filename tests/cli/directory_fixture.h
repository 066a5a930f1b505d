// A scratch directory in which a test runs the program.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/program.h"

namespace isinglass {

class DirectoryFixture : public ::testing::Test {
 protected:
  Outcome run(const std::string& arguments) {
    return run_program(arguments, {.directory = dir_.path()});
  }
  void succeeds(const std::string& arguments) {
    const Outcome outcome = run(arguments);
    ASSERT_EQ(outcome.exit_code, 0) << arguments << "\n" << outcome.err;
  }
  // Expects exit code 2 and one line that contains the sentence.
  void refused(const std::string& arguments, const std::string& sentence) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments << "\n" << outcome.err;
    EXPECT_NE(outcome.err.find(sentence), std::string::npos) << outcome.err;
    EXPECT_EQ(line_count(outcome.err), 1) << outcome.err;
  }

  TemporaryDirectory dir_;
};

}  // namespace isinglass
