// Small models whose log Z enumeration gives, and runs of isinglass on them.
#pragma once

#include <gtest/gtest.h>

#include "tests/support/inputs.h"
#include "tests/support/program.h"

namespace isinglass {

class Evaluate : public ::testing::Test {
 protected:
  void SetUp() override {
    write_ising(dir_ / "ising.pt");
    write_rbm(dir_ / "rbm.pt");
    write_pt(dir_ / "states.pt", PtValue{all_states()});
    write_pt(dir_ / "bars.pt", PtValue{bars()});
  }

  Outcome run(const std::string& arguments) {
    const Outcome outcome = run_program(arguments, {.directory = dir_.path()});
    EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << outcome.err;
    return outcome;
  }

  // −log Σ exp(−U) and U over all 512 states, by `energy`.
  torch::Tensor energies(const std::string& model) {
    run("energy --model " + model + " --weights " + model + ".pt --states states.pt --out e.pt");
    return read_named_tensors(dir_ / "e.pt").at(0).second.to(torch::kFloat64);
  }

  TemporaryDirectory dir_;
};

}  // namespace isinglass
