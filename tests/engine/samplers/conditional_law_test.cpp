// Every discrete sampler draws from the conditional distribution of the free sites, for every kind
// of model, whether the fixed sites are one, half of them or all but one, and whether chains share
// them (models/conditional/conditional.h). Chains start from exact draws, so that any step that
// does not leave the conditional distribution invariant shows.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/registry.h"
#include "engine/run/run.h"
#include "io/error.h"
#include "models/conditional/conditional.h"
#include "models/lattice/lattice_model.h"
#include "tests/models/samples.h"

namespace isinglass::conditional_law_test {
namespace {

using torch::Tensor;

constexpr int64_t kChains = 2000, kSteps = 8;

// Returns all states of the space, [K^D, D].
Tensor all_states(const StateSpace& space) {
  const std::vector<Tensor> values(space.sites, torch::arange(space.categories));
  return torch::cartesian_prod(values).view({-1, space.sites}).to(torch::kUInt8);
}

// Returns the number of each state among all_states().
Tensor number_of(const StateSpace& space, const Tensor& x) {
  Tensor number = torch::zeros({x.size(0)}, torch::kInt64);
  for (int64_t i = 0; i < space.sites; ++i) {
    number = number * space.categories + x.select(1, i).to(torch::kInt64);
  }
  return number;
}

struct Law {
  std::string name;
  std::shared_ptr<EnergyModel> model;  // the conditional model
  Tensor states;                       // [S, A]
  Tensor p;                            // [rows, S]: the conditional distribution of each row
};

Tensor fixed_at(const Tensor& state, int64_t first, int64_t count) {
  Tensor given = torch::full({state.size(0)}, -1, torch::kInt64);
  given.narrow(0, first, count).copy_(state.narrow(0, first, count));
  return given;
}

// The conditional distributions come from the joint model's energies of whole states.
std::vector<Law> laws(const std::shared_ptr<EnergyModel>& joint) {
  const StateSpace whole = joint->space();
  const Tensor states = some_states(whole, 3);
  const int64_t half = whole.sites / 2;
  // The last two have few free sites, so that few states share the chains of a row.
  const std::vector<std::pair<std::string, Tensor>> cases = {
      {"one", fixed_at(states[0], 1, 1)},
      {"half", fixed_at(states[1], 0, half)},
      {"all but one", fixed_at(states[2], 0, whole.sites - 1)},
      {"values of rows", torch::stack({fixed_at(states[0], 0, whole.sites - 2),
                                       fixed_at(states[1], 0, whole.sites - 2)})},
      {"sites of rows", torch::stack({fixed_at(states[0], 0, whole.sites - 2),
                                      fixed_at(states[1], 1, whole.sites - 1)})}};
  std::vector<Law> all;
  for (const auto& [name, given] : cases) {
    const FixedSites fixed(whole, given, "the values", torch::kCPU);
    Law law{name, conditional_model(joint, fixed), all_states(fixed.space()), {}};
    std::vector<Tensor> rows;
    for (int64_t row = 0; row < fixed.rows(); ++row) {
      const int64_t count = law.states.size(0);
      const FixedSites own = fixed.of_chains(fixed.rows(), row, 1);
      Tensor u = torch::empty({count}, torch::kFloat64);
      for (int64_t s = 0; s < count; ++s) {
        Evaluation at;
        joint->evaluate_energy(own.complete(law.states.narrow(0, s, 1)), at);
        u[s] = at.energy[0];
      }
      rows.push_back(torch::softmax(-u, 0));  // spare entries take all values equally often
    }
    law.p = torch::stack(rows);
    all.push_back(std::move(law));
  }
  return all;
}

void expect_law(const Law& law, const Sampler& sampler) {
  const int64_t rows = law.p.size(0), each = kChains / rows, count = law.states.size(0);
  torch::manual_seed(7);
  const Tensor start = torch::multinomial(law.p, each, /*replacement=*/true).flatten();
  ChainState state =
      sampler.init(*law.model, law.states.index_select(0, start), torch::arange(kChains));
  StepParams params = sampler.params(11, torch::kCPU);
  const RunResult result =
      run(*law.model, sampler, state, params, {.burn_in = 0, .steps = kSteps}, {});
  const bool moves = (law.p > 0.01).sum(1).gt(1).any().item<bool>();
  EXPECT_TRUE(result.hops > 0 || !moves);
  const Tensor number = number_of(law.model->space(), state.x).view({rows, each});
  for (int64_t row = 0; row < rows; ++row) {
    const Tensor share =
        torch::bincount(number[row], {}, count).to(torch::kFloat64) / static_cast<double>(each);
    const Tensor p = law.p[row];
    // Pearson's statistic of the states that are expected at least five times, the others taken
    // together; its mean is the number of degrees of freedom n, its variance 2n.
    const Tensor often = p * static_cast<double>(each) >= 5;
    Tensor q = torch::cat(
        {p.masked_select(often), p.masked_select(often.logical_not()).sum().unsqueeze(0)});
    Tensor f = torch::cat(
        {share.masked_select(often), share.masked_select(often.logical_not()).sum().unsqueeze(0)});
    const Tensor counted = q * static_cast<double>(each) >= 1;
    q = q.masked_select(counted);
    f = f.masked_select(counted);
    const double n = static_cast<double>(q.numel()) - 1;
    if (n < 1) continue;
    const double chi = (static_cast<double>(each) * (f - q).square() / q).sum().item<double>();
    EXPECT_LT(chi, n + 6 * std::sqrt(2 * n) + 6) << "row " << row;
  }
}

class ConditionalLaw : public testing::TestWithParam<ModelSample> {};

TEST_P(ConditionalLaw, EverySamplerDrawsFromIt) {
  for (const Law& law : laws(load_sample(GetParam()))) {
    SCOPED_TRACE(law.name);
    int fitting = 0;
    for (const SamplerEntry& entry : sampler_registry()) {
      if (!entry.fits(*law.model)) continue;
      SCOPED_TRACE(entry.name);
      SamplerOptions options;
      const double sites = static_cast<double>(law.model->space().sites);
      if (entry.option("radius")) options.radius = std::min(2.0, (sites + 1) / 2);
      if (entry.option("block")) options.block = std::min(2.0, sites);
      std::vector<SamplerOptions> all = {options};
      if (entry.option("scan")) {
        options.scan = Scan::kChromatic;
        all.push_back(options);
      }
      for (const SamplerOptions& each : all) {
        std::unique_ptr<Sampler> sampler;
        try {
          sampler = make_sampler(entry.name, each, *law.model);
        } catch (const Error&) {
          continue;  // block sweeps need a model that has them
        }
        if (!sampler->exact()) continue;
        ++fitting;
        expect_law(law, *sampler);
      }
    }
    EXPECT_GT(fitting, 5);
  }
}

// One of each kind of model: a lattice of binary and of categorical sites, one with a table of
// couplings for each edge, RBMs of both, ordered sites, a network of conditional probabilities and
// a function without closed form.
std::vector<ModelSample> kinds() {
  std::vector<ModelSample> some;
  for (ModelSample& sample : model_samples()) {
    for (const char* label : {"ising", "potts", "potts_tables", "rbm", "rbm_categorical",
                              "lattice_gaussian", "bayesnet", "logistic"}) {
      if (sample.label == label) some.push_back(std::move(sample));
    }
  }
  return some;
}

INSTANTIATE_TEST_SUITE_P(Models, ConditionalLaw, testing::ValuesIn(kinds()),
                         [](const auto& info) { return info.param.label; });

}  // namespace
}  // namespace isinglass::conditional_law_test
