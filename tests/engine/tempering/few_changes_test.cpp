// Tempering of models that are limited to few changes of a reference state: rung 0 draws states
// with few changes, and log Z is that of these states.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/annealing/ais.h"
#include "engine/registry.h"
#include "engine/tempering/ladder_path.h"
#include "engine/tempering/parallel_tempering.h"
#include "models/conditional/restriction.h"
#include "models/lattice/ising.h"
#include "models/lattice/potts.h"
#include "models/network/rbm.h"
#include "tests/engine/annealing/both_ways.h"
#include "tests/engine/invariance.h"

namespace isinglass::tempering_few_changes_test {
namespace {

using torch::Tensor;

constexpr int64_t kSites = 6, kMost = 2;

Tensor ring() {
  const Tensor site = torch::arange(kSites);
  return torch::stack({site, (site + 1).remainder(kSites)}, 1);
}

std::shared_ptr<EnergyModel> model_named(const std::string& name) {
  const Tensor coupling = torch::linspace(-0.9, 1.2, kSites, torch::kFloat64);
  if (name == "ising") {
    return std::make_shared<IsingModel>(ring(), coupling, torch::linspace(-0.5, 0.8, kSites));
  }
  if (name == "potts") {
    return std::make_shared<PottsModel>(ring(), coupling,
                                        torch::linspace(-1, 1, 3 * kSites).view({kSites, 3}));
  }
  const Tensor w = torch::linspace(-2, 2, 4 * kSites).view({4, kSites}).sin() * 1.5;
  return std::make_shared<RbmModel>(w, torch::linspace(-0.5, 0.5, kSites),
                                    torch::linspace(0.4, -0.4, 4));
}

struct Near {
  Near(const std::string& name, RestrictionOptions options)
      : whole(model_named(name)),
        restriction(whole->space(), with_reference(std::move(options)), torch::kCPU),
        model(restriction.restrict_model(whole)),
        start(Factorised::uniform(model->space(), torch::kCPU)
                  .within(*restriction.distance_limit())) {}

  static RestrictionOptions with_reference(RestrictionOptions options) {
    if (!options.reference.defined()) {
      options.reference = torch::tensor({1, 0, 0, 1, 1, 0}, torch::kUInt8);
    }
    options.within = kMost;
    return options;
  }

  double log_z() const {
    const StateSpace space = whole->space();
    const reference::StateTable table(kSites, static_cast<int>(space.categories));
    const Tensor x = states_of(table);
    Tensor near = (x != restriction.reference(1)).sum(1) <= kMost;
    return torch::logsumexp(torch::where(near, -whole->energy(x), -INFINITY), 0).item<double>();
  }

  bool inside(const Tensor& x) const {
    const Tensor all = restriction.complete(x);
    return ((all != restriction.reference(x.size(0))).sum(1) <= kMost).all().item<bool>();
  }

  std::shared_ptr<EnergyModel> whole;
  Restriction restriction;
  std::shared_ptr<EnergyModel> model;
  Factorised start;
};

struct Tempered {
  TemperingReport report;
  bool inside = true;
};

Tempered temper(const Near& near, const std::string& sampler, int64_t ensembles, int64_t scans) {
  SamplerOptions options;
  if (sampler == "pafs") options.radius = 2;
  const auto path = make_ladder_path(PathKind::kLinear, *near.model, near.start, torch::kCPU,
                                     /*chains=*/2);
  const ParallelTempering tempering(*near.model, make_sampler(sampler, options, path->model()),
                                    near.start, {.rungs = 4, .exploration = 3, .scans = scans});
  const Tensor x = near.restriction.restrict(near.restriction.reference(ensembles), "the states");
  ChainState state = tempering.init(*near.model, x, torch::arange(ensembles));
  StepParams params = tempering.params(3, torch::kCPU);
  constexpr int64_t kBurnIn = 100;
  for (int64_t t = 0; t < kBurnIn; ++t) {
    tempering.burn_in_step(*near.model, state, params, t, kBurnIn);
  }
  Tempered run;
  for (int64_t t = 0; t < scans; ++t) {
    tempering.step(*near.model, state, params);
    if (t % 20 < 2) {
      const Tensor rungs = tempering.rung_states(state);
      for (int64_t r = 0; r < rungs.size(1); ++r) run.inside &= near.inside(rungs.select(1, r));
    }
  }
  run.report = tempering.report(state, params);
  return run;
}

TEST(FewChangesOnALadder, LogZIsThatOfTheBall) {
  for (const char* name : {"ising", "potts", "rbm"}) {
    const Near near(name, {});
    for (const char* sampler : {"gibbs", "gwg", "pafs", "lb"}) {
      SCOPED_TRACE(std::string(name) + " " + sampler);
      const Tempered run = temper(near, sampler, 16, 600);
      EXPECT_TRUE(run.inside);
      // Without the limit, log Z of the start alone would be wrong by log(64/22) = 1.07 or more.
      EXPECT_LT(run.report.log_z.standard_error, 0.06);
      EXPECT_NEAR(run.report.log_z.value, near.log_z(), 5 * run.report.log_z.standard_error);
      // Draws of independent sites, which nearly all lie outside, would be rejected.
      EXPECT_LT(run.report.rejection.front(), 0.5);
    }
  }
}

// Rows of references and of fixed sites have a ball each. log Z differs, and there is none.
TEST(FewChangesOnALadder, EachRowOfReferencesHasItsBall) {
  const Tensor rows = torch::tensor({1, 0, 0, 1, 1, 0, 0, 2, 1, 0, 2, 2}, torch::kUInt8);
  const Near near(
      "potts",
      {.fixed = torch::tensor({-1, 1, -1, -1, -1, -1, -1, 2, 0, -1, -1, -1}).view({2, kSites}),
       .reference = rows.view({2, kSites})});
  for (const char* sampler : {"gibbs", "pafs"}) {
    const Tempered run = temper(near, sampler, 8, 400);
    EXPECT_TRUE(run.inside);
    EXPECT_TRUE(std::isnan(run.report.log_z.value));
    EXPECT_LT(run.report.rejection.front(), 0.5);
  }
}

TEST(FewChangesInAnnealing, LogZIsThatOfTheBall) {
  for (const char* name : {"ising", "potts", "rbm"}) {
    const Near near(name, {});
    for (const char* sampler : {"gibbs", "gwg", "lb"}) {
      SCOPED_TRACE(std::string(name) + " " + sampler);
      const AisResult found = anneal(*near.model, {}, sampler, near.start,
                                     {.chains = 2000, .temperatures = 50, .seed = 3});
      EXPECT_TRUE(torch::isfinite(found.log_weights).all().item<bool>());
      EXPECT_LT(found.log_z_se, 0.05);
      EXPECT_NEAR(found.log_z, near.log_z(), 5 * found.log_z_se);
    }
  }
}

}  // namespace
}  // namespace isinglass::tempering_few_changes_test
