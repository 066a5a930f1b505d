// Tests which parameters of a cell's training are evaluated.
#include "lab/grid/cells/learning_cell.h"

#include <gtest/gtest.h>

#include "io/files.h"
#include "tests/support/scratch.h"

namespace isinglass::learning_cell_test {
namespace {

std::string evaluated_after(const std::string& metrics) {
  const Scratch scratch;
  write_file(scratch / "metrics.jsonl", metrics);
  return parameters_to_evaluate(scratch.folder()).filename().string();
}

TEST(LearningCell, EvaluatesWhatValidatedBestWhereScoresCanBeCompared) {
  EXPECT_EQ(evaluated_after("{\"iteration\":1}\n{\"iteration\":2}\n"), "ema.pt");
  EXPECT_EQ(
      evaluated_after("{\"iteration\":1,\"validation_score\":-99,\"validation_weight_ess\":25}\n"
                      "{\"iteration\":2}\n"),
      "best.pt");
  // The later model could not be annealed with as many temperatures. This does not make the earlier
  // one better.
  EXPECT_EQ(
      evaluated_after("{\"iteration\":1,\"validation_score\":-199,\"validation_weight_ess\":25}\n"
                      "{\"iteration\":2,\"validation_score\":-80,\"validation_weight_ess\":1.1}\n"
                      "{\"iteration\":3}\n"),
      "ema.pt");
}

}  // namespace
}  // namespace isinglass::learning_cell_test
