// The elastic force against its definition by a softmax, leaders, and momenta.
#include "kernels/hamiltonian/leapfrog.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

namespace isinglass::leapfrog_test {
namespace {

constexpr ParticleShape kShape{6, 4, 3, 0.5};  // two groups of three

struct Inputs {
  Inputs() {
    std::mt19937_64 random(5);
    std::normal_distribution<double> normal(0, 1);
    for (auto* reals : {&x, &gradient}) {
      for (float& v : *reals) v = static_cast<float>(normal(random));
    }
    for (double& v : momentum) v = normal(random);
    for (double& v : energy) v = normal(random);
  }

  int64_t leader_of(int64_t c) const {
    const int64_t first = c - c % 3;
    return std::min_element(energy.begin() + first, energy.begin() + first + 3) - energy.begin();
  }
  // λ (π_l − π_i) / (π_l + π_i)
  double pull(int64_t c, double strength) const {
    const double own = std::exp(-energy[c]), leaders = std::exp(-energy[leader_of(c)]);
    return strength * (leaders - own) / (leaders + own);
  }

  std::vector<float> x = std::vector<float>(24), gradient = std::vector<float>(24);
  std::vector<double> momentum = std::vector<double>(24), energy = std::vector<double>(6);
};

TEST(Leapfrog, KicksByTheElasticForceAndDrifts) {
  const Inputs in;
  const double strength = 1.7, step = 0.2;
  std::vector<double> momentum = in.momentum;
  std::vector<float> x = in.x;
  const ForceField field{x.data(), in.gradient.data(), in.energy.data(), strength};
  for (const int64_t first : {0, 3})
    EXPECT_EQ(leader_of(kShape, field, first), in.leader_of(first));
  cpu::kick_and_drift(kShape, field, &step, {0.5, 1}, momentum.data(), x.data(), {}, nullptr);
  for (int64_t c = 0; c < 6; ++c) {
    EXPECT_NEAR(Pulled(field, c, in.leader_of(c)).pull, in.pull(c, strength), 1e-14);
    for (int64_t i = 0; i < 4; ++i) {
      const int64_t at = c * 4 + i;
      const double distance = double(in.x[at]) - in.x[in.leader_of(c) * 4 + i];
      const double kicked =
          in.momentum[at] - 0.1 * (in.gradient[at] + in.pull(c, strength) * distance);
      EXPECT_NEAR(momentum[at], kicked, 1e-14);
      EXPECT_FLOAT_EQ(x[at], static_cast<float>(in.x[at] + 0.2 * kicked / 0.5));
    }
  }
}

// Before the kick the log density is that of the old momenta, after it that of the new ones, both
// at x.
TEST(Leapfrog, ALogMomentumHoldsTheElasticEnergyIfAsked) {
  const Inputs in;
  const double step = 0.2;
  for (const bool elastic : {false, true}) {
    std::vector<double> before(6), after(6), momentum = in.momentum;
    std::vector<float> x = in.x;
    cpu::kick_and_drift(kShape, {x.data(), in.gradient.data(), in.energy.data(), 1.7}, &step,
                        {0.5, 1}, momentum.data(), x.data(), {before.data(), after.data(), elastic},
                        nullptr);
    for (int64_t c = 0; c < 6; ++c) {
      double kinetic_before = 0, kinetic_after = 0, stretched = 0;
      for (int64_t i = 0; i < 4; ++i) {
        const int64_t at = c * 4 + i;
        const double distance = double(in.x[at]) - in.x[in.leader_of(c) * 4 + i];
        kinetic_before += 0.5 * in.momentum[at] * in.momentum[at] / 0.5;
        kinetic_after += 0.5 * momentum[at] * momentum[at] / 0.5;
        stretched += 0.5 * distance * distance;
      }
      const double pulled = elastic ? in.pull(c, 1.7) * stretched : 0;
      EXPECT_NEAR(before[c], -kinetic_before - pulled, 1e-13);
      EXPECT_NEAR(after[c], -kinetic_after - pulled, 1e-13);
    }
  }
}

TEST(Leapfrog, TheFirstOfEqualsLeadsAndAPullNeverUnderflows) {
  const std::vector<double> energy = {4, 2, 2, 1e5, 3e5, 2e5};
  const ForceField field{nullptr, nullptr, energy.data(), 2};
  EXPECT_EQ(leader_of(kShape, field, 0), 1);
  EXPECT_EQ(leader_of(kShape, field, 3), 3);
  const auto pull = [&](int64_t c) { return Pulled(field, c, c < 3 ? 1 : 3).pull; };
  EXPECT_EQ(pull(1), 0);
  EXPECT_EQ(pull(2), 0);
  EXPECT_NEAR(pull(0), 2 * std::tanh(1.0), 1e-15);
  EXPECT_EQ(pull(3), 0);
  EXPECT_EQ(pull(4), 2);
  EXPECT_EQ(pull(5), 2);
}

TEST(Leapfrog, WithoutStrengthNothingPulls) {
  const Inputs in;
  const double step = 0.2;
  std::vector<double> together = in.momentum, alone = in.momentum;
  std::vector<float> x = in.x, y = in.x;
  cpu::kick_and_drift(kShape, {x.data(), in.gradient.data(), in.energy.data(), 0}, &step, {1, 1},
                      together.data(), x.data(), {}, nullptr);
  cpu::kick_and_drift(kShape, {y.data(), in.gradient.data()}, &step, {1, 1}, alone.data(), y.data(),
                      {}, nullptr);
  EXPECT_EQ(together, alone);
  EXPECT_EQ(x, y);
}

// p ← γ p + √(1 − γ²) √m ξ keeps N(0, m), and its correlation with the kept momentum is γ. The kept
// momentum becomes −p.
TEST(Leapfrog, RefreshedMomentaHaveTheirMassAndMemory) {
  constexpr int64_t kChains = 20000;
  const ParticleShape shape{kChains, 2, 1, 0.25};
  const double damping = 0.8, m = 0.25;
  std::vector<int64_t> ids(kChains);
  std::iota(ids.begin(), ids.end(), 0);
  std::vector<double> kept(2 * kChains), first(2 * kChains), second(2 * kChains);
  const int64_t start[] = {3, 0}, next[] = {3, 1};
  cpu::refresh_momentum(shape, start, ids.data(), 0, kept.data(), first.data(), nullptr);
  for (size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(kept[i], -first[i]);
    kept[i] = first[i];  // accepted, and unchanged
  }
  cpu::refresh_momentum(shape, next, ids.data(), damping, kept.data(), second.data(), nullptr);
  double variance = 0, product = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    variance += second[i] * second[i];
    product += second[i] * first[i];
  }
  const double n = 2.0 * kChains;
  EXPECT_NEAR(variance / n, m, 5 * m * std::sqrt(2 / n));
  EXPECT_NEAR(product / n, damping * m, 5 * m * std::sqrt((1 + damping * damping) / n));
}

}  // namespace
}  // namespace isinglass::leapfrog_test
