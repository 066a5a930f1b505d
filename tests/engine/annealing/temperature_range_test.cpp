// The temperatures that annealing chooses, against closed forms, and the differences of energy that
// they come from, against the energies of all neighbours.
#include "engine/annealing/temperature_range.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "engine/run/run.h"
#include "io/error.h"
#include "models/lattice/ising.h"
#include "models/lattice/potts.h"
#include "tests/support/scratch.h"

namespace isinglass::temperature_range_test {
namespace {

using torch::Tensor;

// A ring with a chord; all couplings and fields differ.
std::shared_ptr<EnergyModel> ising(double scale = 1) {
  const Tensor edges =
      torch::tensor({0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 0, 1, 4}, torch::kInt64).view({7, 2});
  const Tensor coupling =
      torch::tensor({0.71, -0.53, 1.02, 0.24, -1.47, 0.63, -0.88}, torch::kFloat64);
  const Tensor field = torch::tensor({0.27, -0.49, 0.13, 0.36, 0.05, -0.77}, torch::kFloat64);
  return std::make_shared<IsingModel>(edges, scale * coupling, scale * field);
}

// The same energies without the interfaces of a lattice.
class PlainModel : public EnergyModel {
 public:
  explicit PlainModel(std::shared_ptr<EnergyModel> own) : own_(std::move(own)) {}
  std::string kind_name() const override { return "plain"; }
  StateSpace space() const override { return own_->space(); }
  Tensor energy(const Tensor& x) override { return own_->energy(x); }

 private:
  std::shared_ptr<EnergyModel> own_;
};

PilotChains pilot(EnergyModel& model, const std::string& sampler, int64_t chains = 16) {
  const Tensor ids = torch::arange(chains);
  return {.states = random_states(model.space(), ids, 5, torch::kCPU),
          .ids = ids,
          .seed = 5,
          .sampler = [sampler](const EnergyModel& of) {
            SamplerOptions options;
            if (sampler == "chromatic") options.scan = Scan::kChromatic;
            return make_sampler(sampler == "chromatic" ? "gibbs" : sampler, options, of);
          }};
}

TEST(ChangeEnergies, AreTheDifferencesToAllNeighbours) {
  const auto lattice = ising();
  PlainModel plain(lattice);
  const Tensor ids = torch::arange(3), x = random_states(lattice->space(), ids, 1, torch::kCPU);
  constexpr int64_t kDraws = 400;
  const Tensor own = change_energies(*lattice, x, ids, kDraws, 7, 2);
  EXPECT_TRUE(torch::allclose(own, change_energies(plain, x, ids, kDraws, 7, 2), 0, 1e-12));
  EXPECT_FALSE(torch::equal(own, change_energies(*lattice, x, ids, kDraws, 7, 3)));
  const Tensor here = lattice->energy(x);
  for (int64_t b = 0; b < x.size(0); ++b) {
    std::vector<int> counts(6, 0);
    for (int64_t c = 0; c < kDraws; ++c) {
      const double drawn = own[b][c].item<double>();
      int which = -1;
      for (int64_t i = 0; i < 6; ++i) {
        Tensor y = x.narrow(0, b, 1).clone();
        y[0][i] = 1 - y[0][i];
        if (std::abs((lattice->energy(y) - here[b]).item<double>() - drawn) < 1e-12) {
          which = static_cast<int>(i);
        }
      }
      ASSERT_GE(which, 0) << drawn;
      ++counts[which];
    }
    // 7 standard errors of a share of 1/6 are 52 draws; differences are distinct at these states.
    for (const int count : counts) EXPECT_NEAR(count, kDraws / 6.0, 52);
  }
}

TEST(ChangeEnergies, TakeEveryOtherValueOfACategoricalSite) {
  const Tensor field = torch::tensor({{0.0, 1.0, 3.0, 7.0}}, torch::kFloat64);
  PottsModel model(torch::empty({0, 2}, torch::kInt64), torch::empty({0}, torch::kFloat64), field);
  const Tensor x = torch::ones({1, 1}, torch::kUInt8);
  const Tensor drawn = change_energies(model, x, torch::arange(1), 300, 3, 0);  // U = −field
  std::map<double, int> counts;
  for (int64_t c = 0; c < 300; ++c) ++counts[drawn[0][c].item<double>()];
  ASSERT_EQ(counts.size(), 3U);
  for (const double difference : {1.0, -2.0, -6.0}) EXPECT_NEAR(counts[difference], 100, 57);
}

TEST(UphillAcceptance, IsTheMeanOfTheUphillChanges) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor changes =
      torch::tensor({-1.0, 0.0, 1.0, 2.0, infinity, std::nan("")}, torch::kFloat64);
  const double a = std::exp(-0.5), b = std::exp(-1.0);
  EXPECT_NEAR(uphill_acceptance(changes, 2), (a + b) / 2, 1e-15);
  EXPECT_NEAR(uphill_acceptance(changes, 2, /*weighted=*/true), (a + 2 * b) / 3, 1e-15);
  EXPECT_TRUE(std::isnan(uphill_acceptance(-changes.slice(0, 2, 4), 2)));
}

// All uphill changes of independent spins in equal fields cost 2h, whatever the states are, so that
// T_0 = 2h / ln 10 and T_1 = 2h / ln 1000 (D = 100: 1/(2D) is larger than 1/1000).
TEST(TemperatureRange, OfIndependentSpinsIsExact) {
  for (const double h : {1e-3, 1.0, 1e6}) {
    const Tensor field = torch::full({100}, h, torch::kFloat64);
    IsingModel model(torch::empty({0, 2}, torch::kInt64), torch::empty({0}, torch::kFloat64),
                     field);
    for (const char* sampler : {"chromatic", "pafs", "gibbs"}) {
      const Temperatures range = temperature_range(model, pilot(model, sampler), torch::kCPU);
      EXPECT_NEAR(range.first / h, 2 / std::log(10.0), 1e-9) << sampler;
      EXPECT_NEAR(range.last / h, 2 / std::log(1000.0), 1e-9) << sampler;
    }
  }
  EXPECT_EQ(last_accepted(100), 1e-3);
  EXPECT_EQ(last_accepted(5000), 1e-4);
}

// Multiplication by a power of two commutes with rounding, so that the chains make the same moves.
TEST(TemperatureRange, FollowsTheScaleOfTheTarget) {
  for (const char* sampler : {"chromatic", "gibbs", "pafs"}) {
    const auto range = [&](double scale) {
      const auto model = ising(scale);
      return temperature_range(*model, pilot(*model, sampler), torch::kCPU);
    };
    const Temperatures one = range(1);
    EXPECT_GT(one.first, 2 * one.last) << sampler;
    for (const int power : {-40, -10, 20}) {
      const Temperatures other = range(std::ldexp(1, power));
      EXPECT_EQ(std::ldexp(other.first, -power), one.first) << sampler;
      EXPECT_EQ(std::ldexp(other.last, -power), one.last) << sampler;
    }
  }
}

// Two rings far apart in scale: T_0 belongs to the strong one and T_1 to the weak one.
TEST(TemperatureRange, CoversTwoScales) {
  constexpr int64_t kEach = 30;
  Tensor edges = torch::empty({2 * kEach, 2}, torch::kInt64);
  Tensor coupling = torch::empty({2 * kEach}, torch::kFloat64);
  for (int64_t i = 0; i < 2 * kEach; ++i) {
    const int64_t ring = i / kEach * kEach;
    edges[i][0] = i;
    edges[i][1] = ring + (i + 1 - ring) % kEach;
    coupling[i] = i < kEach ? 1000.0 : 0.1;
  }
  IsingModel model(edges, coupling, torch::zeros({2 * kEach}, torch::kFloat64));
  const Temperatures range = temperature_range(model, pilot(model, "chromatic"), torch::kCPU);
  EXPECT_GT(range.first, 200);
  EXPECT_LT(range.last, 0.1);
  EXPECT_GT(range.last, 0.01);
}

TEST(TemperatureRange, NeedsDifferencesOfEnergy) {
  IsingModel flat(torch::empty({0, 2}, torch::kInt64), torch::empty({0}, torch::kFloat64),
                  torch::zeros({5}, torch::kFloat64));
  EXPECT_ERROR(temperature_range(flat, pilot(flat, "gibbs"), torch::kCPU),
               "anneal auto needs differences of energy");
}

// Uphill changes of independent spins cost 2h at every state.
TEST(RangeWatch, MeasuresAtTheEndsOfBurnIn) {
  const Tensor field = torch::ones({10}, torch::kFloat64);
  IsingModel model(torch::empty({0, 2}, torch::kInt64), torch::empty({0}, torch::kFloat64), field);
  constexpr Temperatures kRange{4, 0.5};
  Cooling cooling(model, kRange, 250, torch::kCPU);
  RangeWatch watch(model, kRange, 250, 3, 1);
  const auto sampler = make_sampler("gibbs", {}, cooling.model());
  const Tensor ids = torch::arange(8);
  ChainState state =
      sampler->init(cooling.model(), random_states(model.space(), ids, 1, torch::kCPU), ids);
  StepParams params = sampler->params(1, torch::kCPU);
  EXPECT_TRUE(std::isnan(watch.at_first()));
  run(cooling.model(), *sampler, state, params, {.burn_in = 250, .hook = &cooling}, {&watch});
  EXPECT_NEAR(watch.at_first(), std::exp(-2 / kRange.first), 1e-12);
  EXPECT_NEAR(watch.at_last(), std::exp(-2 / kRange.last), 1e-12);
}

}  // namespace
}  // namespace isinglass::temperature_range_test
