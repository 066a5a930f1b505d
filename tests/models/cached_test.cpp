// Values that models compute from their parameters follow these, by one rule.
#include "models/cached.h"

#include <gtest/gtest.h>

#include "models/lattice/ising.h"
#include "models/network/rbm.h"

namespace isinglass::cached_test {
namespace {

using torch::Tensor;

TEST(Cached, IsMadeAnewWhenASourceIsWrittenTo) {
  Cached<double> sum;
  std::vector<Tensor> sources = {torch::ones({2}), torch::ones({3})};
  int made = 0;
  const auto get = [&] {
    return sum.get(sources, [&] {
      ++made;
      return (sources[0].sum() + sources[1].sum()).item<double>();
    });
  };
  EXPECT_EQ(sum.last(), nullptr);
  EXPECT_EQ(get(), 5);
  EXPECT_EQ(get(), 5);
  EXPECT_EQ(made, 1);
  sources[1].add_(1);
  EXPECT_EQ(get(), 8);
  EXPECT_EQ(made, 2);
  sources[0] = torch::zeros({2});  // another tensor
  EXPECT_EQ(get(), 6);
  sources[0].set_data(torch::full({2}, 4.0));  // other data, as Module::to() has them
  EXPECT_EQ(get(), 14);
  sources.pop_back();
  EXPECT_EQ(sum.get(sources, [] { return 3.5; }), 3.5);
  EXPECT_EQ(made, 4);
}

// Learning an Ising model: after a step of its coupling every table is that of the new lattice.
TEST(Cached, ALatticeFollowsItsCouplings) {
  IsingModel model(torch::tensor({0, 1, 1, 2}, torch::kInt64).view({2, 2}),
                   torch::tensor({0.3, -0.2}, torch::kFloat64), torch::zeros({3}));
  Tensor coupling = model.named_parameters()["coupling"];
  const Tensor x = torch::tensor({{0, 1, 1}, {1, 1, 1}}).to(torch::kUInt8);
  Evaluation before, after;
  model.evaluate(x, before);
  model.energy(x)[0].backward();  // ∂U/∂J = (1, −1) at 0 1 1
  {
    const torch::NoGradGuard no_grad;
    coupling.sub_(coupling.grad(), 0.5);
  }
  EXPECT_NEAR(coupling[0].item<double>(), -0.2, 1e-12);
  EXPECT_NEAR(coupling[1].item<double>(), 0.3, 1e-12);
  model.evaluate(x, after);
  EXPECT_TRUE(torch::allclose(after.energy, model.energy(x).detach(), 0, 1e-12));
  const IsingModel fresh(torch::tensor({0, 1, 1, 2}, torch::kInt64).view({2, 2}), coupling.detach(),
                         torch::zeros({3}));
  Evaluation expected;
  const_cast<IsingModel&>(fresh).evaluate(x, expected);
  EXPECT_TRUE(torch::equal(after.gradient, expected.gradient));
  EXPECT_FALSE(torch::equal(after.gradient, before.gradient));
  Tensor difference = torch::zeros({2, 2}, torch::kFloat64);
  model.conditional_differences(x, torch::zeros({2}, torch::kInt64), difference);
  EXPECT_NEAR(difference[0][1].item<double>(), 2 * 0.2, 1e-12);  // −J (1 − (−1))
}

TEST(Cached, AnRbmFollowsItsWeights) {
  RbmModel model(torch::zeros({2, 3}), torch::zeros({3}), torch::zeros({2}));
  const Tensor x = torch::ones({1, 3}, torch::kUInt8);
  Evaluation out;
  model.evaluate_energy(x, out);
  {
    const torch::NoGradGuard no_grad;
    for (Tensor& p : model.parameters()) p.fill_(0.5);
  }
  model.evaluate_energy(x, out);
  EXPECT_NEAR(out.energy.item<double>(), model.energy(x).item<double>(), 1e-6);
}

}  // namespace
}  // namespace isinglass::cached_test
