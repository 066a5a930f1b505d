// The joint path of an RBM against plain sums over its few states: energies at every β, and sweeps
// that draw from the exact conditionals of the scaled RBM.
#include "models/network/annealed_rbm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/registry.h"

namespace isinglass::annealed_rbm_test {
namespace {

constexpr int kSites = 3, kHidden = 2, kStates = 1 << kSites;

struct Rbm {
  double w[kHidden][kSites] = {{0.9, -1.3, 0.4}, {-0.7, 0.8, 1.6}};
  double b_v[kSites] = {0.3, -0.6, 0.2}, b_h[kHidden] = {-0.4, 0.5};
  double logit[kSites] = {-1.1, 0.7, 0.4};

  RbmModel model() const {
    torch::Tensor weights = torch::empty({kHidden, kSites});
    for (int j = 0; j < kHidden; ++j) {
      for (int i = 0; i < kSites; ++i) weights[j][i] = w[j][i];
    }
    return RbmModel(weights, torch::tensor({b_v[0], b_v[1], b_v[2]}),
                    torch::tensor({b_h[0], b_h[1]}));
  }
  torch::Tensor logits() const {
    return torch::tensor({logit[0], logit[1], logit[2]}, torch::kFloat64);
  }

  static int bit(int state, int i) { return state >> i & 1; }
  double visible_bias(int i, double beta) const { return beta * b_v[i] + (1 - beta) * logit[i]; }
  // log of the joint weight of v and h at β
  double log_weight(int v, int h, double beta) const {
    double sum = 0;
    for (int i = 0; i < kSites; ++i) sum += bit(v, i) * visible_bias(i, beta);
    for (int j = 0; j < kHidden; ++j) {
      sum += bit(h, j) * beta * b_h[j];
      for (int i = 0; i < kSites; ++i) sum += bit(h, j) * bit(v, i) * beta * w[j][i];
    }
    return sum;
  }
  double free_energy(int v, double beta) const {
    double sum = 0;
    for (int h = 0; h < 1 << kHidden; ++h) sum += std::exp(log_weight(v, h, beta));
    return -std::log(sum);
  }
  // Σ_h p(h | v) p(v' | h)
  double transition(int v, int to, double beta) const {
    double sum = 0;
    for (int h = 0; h < 1 << kHidden; ++h) {
      double row = 0, column = 0;
      for (int k = 0; k < 1 << kHidden; ++k) row += std::exp(log_weight(v, k, beta));
      for (int u = 0; u < kStates; ++u) column += std::exp(log_weight(u, h, beta));
      sum += std::exp(log_weight(v, h, beta)) / row * std::exp(log_weight(to, h, beta)) / column;
    }
    return sum;
  }
};

torch::Tensor rows(int state, int64_t count) {
  const torch::Tensor one =
      torch::tensor({Rbm::bit(state, 0), Rbm::bit(state, 1), Rbm::bit(state, 2)}, torch::kUInt8);
  return one.expand({count, kSites}).contiguous();
}

TEST(AnnealedRbm, EnergiesAreThoseOfTheScaledRbm) {
  const Rbm rbm;
  RbmModel model = rbm.model();
  torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> all;
  for (int v = 0; v < kStates; ++v) all.push_back(rows(v, 1));
  const torch::Tensor states = torch::cat(all);
  AnnealedRbm annealed(model, rbm.logits(), torch::kCPU);
  Evaluation kept;
  annealed.evaluate_energy(states, kept);
  double z0 = 0;
  for (int v = 0; v < kStates; ++v) z0 += std::exp(-rbm.free_energy(v, 0));
  EXPECT_NEAR(annealed.log_z_start(), std::log(z0), 1e-6);
  for (const double beta : {0.0, 0.25, 0.6, 1.0}) {
    annealed.set_beta(beta);
    annealed.recombine(states, kept);
    const torch::Tensor plain = annealed.energy(states);
    for (int v = 0; v < kStates; ++v) {
      EXPECT_NEAR(kept.energy[v].item<double>(), rbm.free_energy(v, beta), 1e-6) << beta;
      EXPECT_NEAR(plain[v].item<double>(), rbm.free_energy(v, beta), 1e-6) << beta;
    }
  }
  // One β a chain.
  AnnealedRbm ladder(model, rbm.logits(), torch::kCPU, kStates);
  ladder.set_beta(torch::linspace(0, 1, kStates, torch::kFloat64));
  ladder.evaluate_energy(states, kept);
  for (int v = 0; v < kStates; ++v) {
    EXPECT_NEAR(kept.energy[v].item<double>(), rbm.free_energy(v, v / (kStates - 1.0)), 1e-6);
  }
}

// The real step from every state: each transition within 7 binomial standard errors.
TEST(AnnealedRbm, SweepsDrawFromTheConditionalsOfTheScaledRbm) {
  const Rbm rbm;
  RbmModel model = rbm.model();
  constexpr int64_t kDraws = 8192;
  for (const double beta : {0.0, 0.6, 1.0}) {
    AnnealedRbm annealed(model, rbm.logits(), torch::kCPU);
    annealed.set_beta(beta);
    const auto sampler = make_sampler("gibbs", {.scan = Scan::kChromatic}, annealed);
    for (int v = 0; v < kStates; ++v) {
      ChainState state = sampler->init(annealed, rows(v, kDraws), torch::arange(kDraws));
      StepParams params = sampler->params(static_cast<uint64_t>(v), torch::kCPU);
      sampler->step(annealed, state, params);
      const torch::Tensor code =
          state.x.to(torch::kInt64).matmul(torch::pow(2, torch::arange(kSites)));
      const torch::Tensor counts = torch::bincount(code, {}, kStates);
      for (int to = 0; to < kStates; ++to) {
        const double p = rbm.transition(v, to, beta);
        EXPECT_NEAR(counts[to].item<double>() / kDraws, p, 7 * std::sqrt(p * (1 - p) / kDraws))
            << v << " to " << to << " at " << beta;
      }
      const double energy = state.current.energy[0].item<double>();
      EXPECT_NEAR(energy, rbm.free_energy(static_cast<int>(code[0].item<int64_t>()), beta), 1e-5);
    }
  }
}

}  // namespace
}  // namespace isinglass::annealed_rbm_test
