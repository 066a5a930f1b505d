// The states that a ladder passes to reverse annealing are draws of the model, and are the same
// after an interruption.
#include "lab/evaluation/tempered_start.h"

#include <gtest/gtest.h>

#include <cmath>

#include "io/pt/entries.h"
#include "lab/evaluation/annealed_estimate.h"
#include "lab/evaluation/likelihood_evaluation.h"
#include "lab/run/assemble.h"
#include "models/energies.h"
#include "models/instances/instances.h"
#include "models/lattice/ising.h"
#include "tests/support/inputs.h"
#include "tests/support/scratch.h"

namespace isinglass::tempered_start_test {
namespace {

using torch::Tensor;

const char* const kLattice = "ising-grid:side=3,coupling=0.6,periodic=0";

EvaluateSpec spec_of(int64_t chains) {
  return {.sampler = {"gwg", {}},
          .chains = chains,
          .rungs = "4",
          .schedule = "linear",
          .path = "linear",
          .reverse = true,
          .reverse_from = "tempering",
          .seed = 5};
}

// Mean energy and magnetisation of all chains are within 4 standard errors of the sums over all
// states. The states of one ensemble are correlated.
TEST(TemperedStart, KeepsDrawsOfTheModel) {
  const auto model = make_instance(kLattice, {});
  const Factorised start = Factorised::uniform(model->space(), torch::kCPU);
  TemperedStart ladder(spec_of(1000), *model, start, 100, 0, {});
  ASSERT_TRUE(ladder.run({}, {}));
  EXPECT_LT(ladder.rhat(), 1.01);
  const Tensor x = ladder.states();
  ASSERT_EQ(x.size(0), 1000);
  const Tensor all = all_states();
  const Tensor law = (-energies(*model, all, torch::kCPU)).to(torch::kFloat64).softmax(0);
  const auto statistics = [&](const Tensor& states) {
    const Tensor energy = energies(*model, states, torch::kCPU).to(torch::kFloat64);
    const Tensor sum = states.to(torch::kFloat64).sum(1);
    return torch::stack({energy, sum, sum.square()}, 1);
  };
  const Tensor truth = (law.unsqueeze(1) * statistics(all)).sum(0);
  const Tensor of_ensembles = statistics(x).view({10, 100, 3}).mean(0);
  const Tensor error = of_ensembles.std(0) / std::sqrt(100.0);
  EXPECT_TRUE(((of_ensembles.mean(0) - truth).abs() < 4 * error).all().item<bool>())
      << of_ensembles.mean(0) << truth << error;
}

TEST(TemperedStart, GoesOnFromWhatItSavedAfterAnyStep) {
  const auto model = make_instance(kLattice, {});
  const Factorised start = Factorised::uniform(model->space(), torch::kCPU);
  const EvaluateSpec spec = spec_of(20);
  const auto sampler = sampler_of(spec.sampler, *model, /*warm=*/false);
  const auto fresh = [&] {
    return std::make_unique<AnnealedEstimate>(spec, *model, *sampler, start, 50, 0, false,
                                              Context());
  };
  constexpr int64_t kLadder = 1024 + 512;
  const auto unbroken = fresh();
  const Scratch folder;
  std::vector<int64_t> saved;
  const auto file = [&](int64_t step) { return folder / std::to_string(step); };
  ASSERT_TRUE(unbroken->run(
      [&] {
        for (const int64_t step : {1L, 800L, kLadder, kLadder + 1, kLadder + 70}) {
          if (unbroken->steps_done() != step) continue;
          write_pt(file(step), PtValue{unbroken->checkpoint()});
          saved.push_back(step);
        }
      },
      {}));
  ASSERT_EQ(saved.size(), 5u);
  ASSERT_EQ(unbroken->steps_total(), kLadder + 100);
  for (const int64_t step : saved) {
    const auto resumed = fresh();
    resumed->restore(std::get<PtDict>(read_pt(file(step)).value));
    EXPECT_EQ(resumed->steps_done(), step);
    ASSERT_TRUE(resumed->run({}, {}));
    EXPECT_EQ(resumed->json(0), unbroken->json(0)) << step;
    EXPECT_EQ(resumed->energy_evaluations(), unbroken->energy_evaluations()) << step;
  }
}

// The round in a checkpoint says how often the number of temperatures was doubled.
TEST(LikelihoodRounds, BeyondWhatStepsAreNumberedByAreRefused) {
  const Scratch folder;
  for (const int64_t round : {-1, 31, 64, 70}) {
    PtDict rounds, dict;
    put(rounds, "round", round);
    put(dict, "rounds", rounds);
    write_pt(folder / "checkpoint.pt", PtValue{dict});
    LikelihoodEvaluation evaluation(
        {.model = {.instance = kLattice}, .sampler = {"gwg", {}}, .chains = 4, .temperatures = 8},
        {.device = torch::kCPU});
    EXPECT_ERROR(evaluation.restore(folder / "checkpoint.pt"),
                 "is at round " + std::to_string(round));
  }
}

// Ten spins, all coupled, with 25 nats between the two modes, which single-flip chains do not
// cross. The first round's long chains have not mixed, and a ladder provides the starts of the next
// round. If a start was named, it is kept.
TEST(TemperedStart, FollowsChainsThatHaveNotMixed) {
  constexpr int64_t kSpins = 10;
  const Tensor edges = torch::combinations(torch::arange(kSpins), 2);
  const auto model = std::make_shared<IsingModel>(edges, torch::full({edges.size(0)}, 0.5),
                                                  torch::full({kSpins}, 0.05));
  const Tensor all = torch::arange(1 << kSpins)
                         .unsqueeze(1)
                         .bitwise_right_shift(torch::arange(kSpins))
                         .bitwise_and(1)
                         .to(torch::kUInt8);
  const double exact = torch::logsumexp(-energies(*model, all, torch::kCPU), 0).item<double>();
  const Scratch folder;
  const auto evaluated = [&](const std::string& from, double seconds) {
    EvaluateSpec spec{.sampler = {"gwg", {}},
                      .chains = 40,
                      .temperatures = 400,
                      .schedule = "linear",
                      .reverse_from = from,
                      .bracket = 1,
                      .until_closed = seconds,
                      .seed = 2};
    LikelihoodEvaluation evaluation(spec, {}, {.model = model});
    EXPECT_EQ(evaluation.spec().reverse_from, from.empty() ? "auto" : from);
    EXPECT_TRUE(evaluation.run(folder / "checkpoint.pt"));
    return evaluation.json();
  };
  const auto json = evaluated("", 60);
  EXPECT_EQ(json["verdict"], "closed") << json["reason"];
  EXPECT_EQ(json["reverse_start"]["from"], "tempering");
  EXPECT_GT(json["steps"], 400);
  EXPECT_NEAR(json["log_z_bidirectional"].get<double>(), exact,
              4 * json["log_z_bidirectional_se"].get<double>());
  const auto named = evaluated("chains", 4);
  EXPECT_GT(named["steps"], 400);
  EXPECT_EQ(named["reverse_start"]["from"], "chains");
  EXPECT_EQ(named["verdict"], "open");
}

}  // namespace
}  // namespace isinglass::tempered_start_test
