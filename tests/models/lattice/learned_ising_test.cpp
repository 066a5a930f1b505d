// An Ising model that is learned: the sites that it joins, its energies by a matrix or a list of
// pairs, and everything that it caches of its couplings.
#include <gtest/gtest.h>

#include <cmath>

#include "models/lattice/ising.h"
#include "models/registry.h"
#include "tests/support/scratch.h"

namespace isinglass::learned_ising_test {
namespace {

using torch::Tensor;

// All states of D sites.
Tensor states(int64_t sites) {
  const Tensor numbers = torch::arange(int64_t{1} << sites).unsqueeze(1);
  return numbers.bitwise_right_shift(torch::arange(sites)).bitwise_and(1).to(torch::kUInt8);
}

std::shared_ptr<IsingModel> ising(EdgeSet edges, const Tensor& mean = {}) {
  return std::dynamic_pointer_cast<IsingModel>(new_model(
      "ising", {.image_height = 3, .image_width = 3, .base_mean = mean, .edges = edges}, 1));
}

void set_couplings(IsingModel& model, double phase) {
  const torch::NoGradGuard no_grad;
  for (Tensor& p : model.parameters()) {
    p.copy_(0.3 * torch::sin(phase + 1.7 * torch::arange(p.numel(), torch::kFloat64)));
  }
}

TEST(EdgeSets, JoinEveryPairOnce) {
  const auto degrees = [](EdgeSet set, int64_t height, int64_t width) {
    return edges_of(set, height, width).flatten().bincount({}, height * width);
  };
  EXPECT_TRUE((degrees(EdgeSet::kAll, 2, 3) == 5).all().item<bool>());
  EXPECT_TRUE((degrees(EdgeSet::kTorus, 3, 4) == 4).all().item<bool>());
  EXPECT_TRUE(torch::equal(degrees(EdgeSet::kGrid, 2, 3), torch::tensor({2, 3, 2, 2, 3, 2})));
  EXPECT_EQ(edges_of(EdgeSet::kTorus, 1, 3).size(0), 3);  // a ring
  for (const std::string& name : edge_set_names()) {
    const Tensor edges = edges_of(edge_set(name), 3, 4);
    const Tensor pairs = std::get<0>(edges.min(1)) * 12 + std::get<0>(edges.max(1));
    EXPECT_EQ(std::get<0>(at::_unique(pairs)).size(0), edges.size(0)) << name;
    EXPECT_TRUE((edges.select(1, 0) != edges.select(1, 1)).all().item<bool>()) << name;
  }
}

// −Σ h z − Σ J z z in plain loops.
TEST(LearnedIsing, EnergiesAreTheFormula) {
  for (const EdgeSet set : {EdgeSet::kAll, EdgeSet::kGrid}) {  // a matrix, and a list
    const auto model = ising(set, torch::full({9}, 0.5));
    set_couplings(*model, 0.4);
    const Tensor x = states(9), energy = model->energy(x).detach();
    const Tensor edges = model->edges(), coupling = model->coupling().detach();
    const Tensor field = model->named_parameters()["field"].detach();
    const auto at = x.accessor<uint8_t, 2>();
    for (const int64_t b : {0, 7, 100, 381, 511}) {
      const auto z = [&](int64_t i) { return 2.0 * at[b][i] - 1; };
      double expected = 0;
      for (int64_t i = 0; i < 9; ++i) expected -= field[i].item<double>() * z(i);
      for (int64_t e = 0; e < edges.size(0); ++e) {
        expected -= coupling[e].item<double>() * z(edges[e][0].item<int64_t>()) *
                    z(edges[e][1].item<int64_t>());
      }
      EXPECT_NEAR(energy[b].item<double>(), expected, 1e-12);
    }
  }
}

TEST(LearnedIsing, StartsAsIndependentSitesOfTheDatasMean) {
  const Tensor mean = torch::linspace(0.1, 0.9, 9);
  const auto model = ising(EdgeSet::kAll, mean);
  const Tensor x = states(9), p = torch::softmax(-model->energy(x).detach(), 0);
  EXPECT_TRUE(torch::allclose(p.matmul(x.to(torch::kFloat64)), mean.to(torch::kFloat64), 0, 1e-6));
  EXPECT_EQ(model->coupling().abs().max().item<double>(), 0);
  const auto without = ising(EdgeSet::kAll)->named_parameters();
  EXPECT_FALSE(without["field"].requires_grad());
  EXPECT_EQ(without["field"].abs().max().item<double>(), 0);
}

// After the parameters have changed, energies, tables, conditionals, neighbourhoods and sweeps
// equal those of a model made from the new parameters.
TEST(LearnedIsing, AllThatItKeepsFollowsItsParameters) {
  for (const EdgeSet set : {EdgeSet::kAll, EdgeSet::kGrid}) {
    const auto model = ising(set, torch::full({9}, 0.5));
    const Tensor x = states(9), site = torch::arange(512).remainder(9);
    const auto results = [&](IsingModel& of) {
      std::vector<Tensor> all;
      Evaluation out, differences;
      of.evaluate(x, out);
      of.evaluate_differences(x, differences);
      Tensor conditional;
      of.conditional_differences(x, site, conditional);
      all = {out.energy.clone(), out.gradient.clone(), differences.differences.clone(),
             conditional};
      if (const auto* kept = of.neighbourhoods()) all.push_back(kept->flip_energy.clone());
      Tensor swept = x.clone(), energy = out.energy.clone();
      const Tensor whole = torch::zeros({512}, torch::kInt64);
      const Tensor real = torch::zeros({512}, torch::kFloat64);
      ops::StepBuffers counts{real.clone(), whole.clone(), real.clone(), whole.clone(),
                              whole.clone()};
      of.tempered_sweeps(3, {}, torch::tensor({5, 0}, torch::kInt64), torch::arange(512), swept,
                         energy, counts);
      all.push_back(swept);
      all.push_back(energy);
      return all;
    };
    set_couplings(*model, 0.4);
    const std::vector<Tensor> before = results(*model);
    EXPECT_EQ(before.size(), set == EdgeSet::kGrid ? 7u : 6u);
    set_couplings(*model, 1.3);
    const std::vector<Tensor> after = results(*model);
    IsingModel made(model->edges(), model->coupling().detach(),
                    model->named_parameters()["field"].detach());
    const std::vector<Tensor> expected = results(made);
    ASSERT_EQ(after.size(), expected.size());
    for (size_t i = 0; i < after.size(); ++i) {
      EXPECT_TRUE(torch::equal(after[i], expected[i])) << i;
      EXPECT_FALSE(torch::equal(after[i], before[i])) << i;
    }
  }
}

TEST(LearnedIsing, IsReadBackWithItsEdges) {
  const Scratch scratch;
  const auto model = ising(EdgeSet::kTorus, torch::full({9}, 0.5));
  set_couplings(*model, 0.4);
  write_named_tensors(scratch / "w.pt", {{"edges", model->edges()},
                                         {"coupling", model->coupling()},
                                         {"field", model->named_parameters()["field"]}});
  const auto other = ising(EdgeSet::kTorus, torch::full({9}, 0.2));
  ParameterReader reader(scratch / "w.pt");
  load_state(*other, reader);
  const Tensor x = states(9);
  EXPECT_TRUE(torch::allclose(other->energy(x), model->energy(x), 0, 1e-6));  // files are float32
}

}  // namespace
}  // namespace isinglass::learned_ising_test
