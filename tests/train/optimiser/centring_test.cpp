// Centred steps against autograd and Adam on the centred machine itself, in float64.
#include "train/optimiser/centring.h"

#include <gtest/gtest.h>

#include <cmath>

#include "io/error.h"
#include "train/optimiser/adam.h"

namespace isinglass::centring_test {
namespace {

constexpr int64_t kVisible = 7, kHidden = 4, kBatch = 6;

torch::Tensor states(torch::Generator& generator) {
  return torch::randint(0, 2, {kBatch, kVisible}, generator, torch::TensorOptions(torch::kUInt8));
}

torch::Tensor parameter(torch::IntArrayRef shape, torch::Generator& generator) {
  return torch::randn(shape, generator, torch::TensorOptions(torch::kFloat64));
}

// U of the machine with parameters W, b_v, b_h, from its definition.
torch::Tensor energy(const torch::Tensor& v, const torch::Tensor& w, const torch::Tensor& b_v,
                     const torch::Tensor& b_h) {
  const torch::Tensor x = v.to(torch::kFloat64);
  return -x.matmul(b_v) - torch::softplus(x.matmul(w.t()) + b_h).sum(1);
}

// The machine in its centred parameters: W, b, c and the offsets.
struct Centred {
  torch::Tensor w, b, c, visible, hidden;

  torch::Tensor b_v() const { return b - w.t().matmul(hidden); }
  torch::Tensor b_h() const { return c - w.matmul(visible); }
  torch::Tensor loss(const torch::Tensor& data, const torch::Tensor& chains) const {
    return energy(data, w, b_v(), b_h()).mean() - energy(chains, w, b_v(), b_h()).mean();
  }
  // Rewrites the same machine with other offsets.
  void move_offsets(const torch::Tensor& data) {
    const torch::Tensor own_b_v = b_v().detach(), own_b_h = b_h().detach();
    const torch::Tensor x = data.to(torch::kFloat64);
    const torch::Tensor on = torch::sigmoid(x.matmul(w.detach().t()) + own_b_h).mean(0);
    visible = 0.99 * visible + 0.01 * x.mean(0);
    hidden = 0.99 * hidden + 0.01 * on;
    b = (own_b_v + w.detach().t().matmul(hidden)).requires_grad_(true);
    c = (own_b_h + w.detach().matmul(visible)).requires_grad_(true);
  }
};

// Adam's step in float64, Kingma & Ba's algorithm 1.
struct PlainAdam {
  std::vector<torch::Tensor> m, v;
  int t = 0;

  std::vector<torch::Tensor> steps(const std::vector<torch::Tensor>& gradients, double rate) {
    if (m.empty()) {
      for (const torch::Tensor& g : gradients) {
        m.push_back(torch::zeros_like(g));
        v.push_back(torch::zeros_like(g));
      }
    }
    ++t;
    std::vector<torch::Tensor> result;
    for (size_t k = 0; k < gradients.size(); ++k) {
      m[k] = 0.9 * m[k] + 0.1 * gradients[k];
      v[k] = 0.999 * v[k] + 0.001 * gradients[k].square();
      result.push_back(-rate * m[k] / (1 - std::pow(0.9, t)) /
                       ((v[k] / (1 - std::pow(0.999, t))).sqrt() + 1e-8));
    }
    return result;
  }
};

TEST(CentringTest, StepsAreThoseOfTheCentredMachine) {
  torch::Generator generator = torch::make_generator<at::CPUGeneratorImpl>(3);
  const torch::Tensor w = 0.5 * parameter({kHidden, kVisible}, generator);
  const torch::Tensor b_v = parameter({kVisible}, generator), b_h = parameter({kHidden}, generator);
  const torch::Tensor mean =
      torch::rand({kVisible}, generator, torch::TensorOptions(torch::kFloat64));

  RbmModel machine(w, b_v, b_h);
  Centring centring(machine, mean);
  Adam adam(machine.parameters());
  Centred reference{w.clone().requires_grad_(true),
                    {},
                    {},
                    mean.clone(),
                    torch::full({kHidden}, 0.5, torch::kFloat64)};
  reference.b = (b_v + w.t().matmul(reference.hidden)).requires_grad_(true);
  reference.c = (b_h + w.matmul(reference.visible)).requires_grad_(true);
  PlainAdam plain;

  constexpr double kRate = 0.05;
  for (int step = 0; step < 5; ++step) {
    const torch::Tensor data = states(generator), chains = states(generator);
    centring.follow(data);
    machine.zero_grad();
    (machine.energy(data).mean() - machine.energy(chains).mean()).backward();
    centring.before_step();

    reference.move_offsets(data);
    const auto gradients = torch::autograd::grad({reference.loss(data, chains)},
                                                 {reference.w, reference.b, reference.c});
    const auto parameters = machine.named_parameters();
    const char* names[] = {"W", "b_v", "b_h"};
    for (int k = 0; k < 3; ++k) {
      EXPECT_LT((parameters[names[k]].grad() - gradients[k]).abs().max().item<double>(), 1e-5)
          << names[k] << " in step " << step;
    }

    adam.step(kRate);
    centring.after_step();
    const auto steps = plain.steps(gradients, kRate);
    reference.w = (reference.w.detach() + steps[0]).requires_grad_(true);
    reference.b = (reference.b.detach() + steps[1]).requires_grad_(true);
    reference.c = (reference.c.detach() + steps[2]).requires_grad_(true);
    // Adam divides by a gradient's size: float32 errors of small ones grow.
    const auto close = [](const torch::Tensor& a, const torch::Tensor& b) {
      return (a.detach() - b.detach()).abs().max().item<double>() < 2e-4;
    };
    EXPECT_TRUE(close(parameters["W"], reference.w)) << "step " << step;
    EXPECT_TRUE(close(parameters["b_v"], reference.b_v())) << "step " << step;
    EXPECT_TRUE(close(parameters["b_h"], reference.b_h())) << "step " << step;
  }
}

// After a skipped step, offsets and machine are as before the batch.
TEST(CentringTest, ASkippedStepLeavesOffsetsAndParameters) {
  torch::Generator generator = torch::make_generator<at::CPUGeneratorImpl>(5);
  const auto make = [&] {
    torch::Generator own = torch::make_generator<at::CPUGeneratorImpl>(6);
    return std::make_unique<RbmModel>(parameter({kHidden, kVisible}, own),
                                      parameter({kVisible}, own), parameter({kHidden}, own));
  };
  const torch::Tensor mean = torch::full({kVisible}, 0.3);
  const auto machine = make(), plain = make();
  Centring centring(*machine, mean), reference(*plain, mean);
  Adam adam(machine->parameters()), other(plain->parameters());
  const auto step = [](RbmModel& model, Centring& centred, Adam& optimiser,
                       const torch::Tensor& data, const torch::Tensor& chains, double skip) {
    const torch::Tensor skipped = torch::tensor(skip, torch::kFloat32);
    centred.follow(data);
    model.zero_grad();
    const torch::Tensor loss = model.energy(data).mean() - model.energy(chains).mean();
    (skip > 0 ? loss * NAN : loss).backward();
    centred.before_step();
    optimiser.set_learning_rate(0.05);
    optimiser.step(skipped);
    centred.after_step(skipped);
  };
  for (int t = 0; t < 4; ++t) {
    const torch::Tensor data = states(generator), chains = states(generator);
    step(*machine, centring, adam, states(generator), states(generator), 1);
    step(*machine, centring, adam, data, chains, 0);
    step(*plain, reference, other, data, chains, 0);
  }
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(torch::equal(centring.offsets()[i].second, reference.offsets()[i].second));
  }
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(torch::equal(machine->parameters()[i], plain->parameters()[i])) << i;
  }
}

// The purpose of centring: data with 0 and 1 exchanged are learned in the same way.
TEST(CentringTest, ExchangingZeroAndOneTurnsTheGradientOfTheWeights) {
  torch::Generator generator = torch::make_generator<at::CPUGeneratorImpl>(4);
  const torch::Tensor w = parameter({kHidden, kVisible}, generator);
  const torch::Tensor b_v = parameter({kVisible}, generator), b_h = parameter({kHidden}, generator);
  const torch::Tensor mean =
      torch::rand({kVisible}, generator, torch::TensorOptions(torch::kFloat64));
  const torch::Tensor data = states(generator), chains = states(generator);
  const auto gradient = [&](RbmModel& machine, const torch::Tensor& offset, bool exchanged,
                            bool centred) {
    Centring centring(machine, offset);
    const auto of = [&](const torch::Tensor& x) { return exchanged ? 1 - x : x; };
    (machine.energy(of(data)).mean() - machine.energy(of(chains)).mean()).backward();
    if (centred) centring.before_step();
    return machine.named_parameters()["W"].grad().clone();
  };
  const auto ratio = [&](bool centred) {
    RbmModel plain(w, b_v, b_h), turned(-w, -b_v, b_h + w.sum(1));
    const torch::Tensor own = gradient(plain, mean, false, centred);
    const torch::Tensor other = gradient(turned, 1 - mean, true, centred);
    return ((own + other).abs().max() / own.abs().max()).item<double>();
  };
  EXPECT_LT(ratio(true), 1e-5);
  EXPECT_GT(ratio(false), 0.1);  // the plain gradient does not have this property
}

TEST(CentringTest, RefusesCategoricalUnits) {
  const RbmModel machine(torch::zeros({2, 3, 4}), torch::zeros({3, 4}), torch::zeros({2}));
  EXPECT_THROW(Centring(machine, torch::full({3}, 0.5)), Error);
}

}  // namespace
}  // namespace isinglass::centring_test
