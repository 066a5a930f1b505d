// Chains that are divided among ranks learn the same as chains of one process.
#include "engine/context.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "engine/run/run.h"
#include "engine/stop_consensus.h"
#include "io/error.h"
#include "models/combined/residual.h"
#include "models/density/gaussian_mixture.h"
#include "models/lattice/bernoulli.h"
#include "models/lattice/ising.h"
#include "tests/support/ranks_of_threads.h"

namespace isinglass::context_test {
namespace {

using torch::Tensor;

TEST(Ranks, ShareChainsInWholeGroups) {
  const auto shares = [](int64_t size, int64_t chains, int64_t group) {
    return on_ranks<std::pair<int64_t, int64_t>>(size, [&](const Ranks& ranks) {
      const Shard shard = ranks.shard(chains, group);
      return std::pair(shard.first, shard.count);
    });
  };
  using Shares = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(shares(3, 13, 1), (Shares{{0, 4}, {4, 4}, {8, 5}}));
  EXPECT_EQ(shares(2, 12, 4), (Shares{{0, 4}, {4, 8}}));
  EXPECT_EQ(shares(1, 12, 5), (Shares{{0, 12}}));
  const auto refused = on_ranks<std::string>(3, [](const Ranks& ranks) -> std::string {
    try {
      ranks.shard(8, 4);
    } catch (const OptionError& error) {
      return error.what();
    }
    return "";
  });
  for (const std::string& sentence : refused) {
    EXPECT_EQ(sentence, "chains is 8; 3 ranks need at least one group of 4 each");
  }
}

TEST(Ranks, MeansAreOverAllChains) {
  const Tensor rows = torch::arange(10, torch::kFloat64).square() / 7;
  const auto means = on_ranks<double>(2, [&](const Ranks& ranks) {
    return ranks.mean(ranks.is_rank0() ? rows.narrow(0, 0, 3) : rows.narrow(0, 3, 7))
        .item<double>();
  });
  for (const double mean : means) EXPECT_EQ(mean, rows.mean().item<double>());
  EXPECT_EQ(Ranks::single_process().mean(rows).item<double>(), rows.mean().item<double>());
}

// The results of a run of one rank's share of the chains.
struct Outcome {
  Tensor scale, x, energy;
  NamedTensors learned;
  RunResult result;
};

// Returns a target of binary sites without a symmetry, on a base if the sampler needs one, or a
// density.
std::shared_ptr<EnergyModel> target_of(const SamplerEntry& sampler) {
  if (std::count(sampler.kinds.begin(), sampler.kinds.end(), StateKind::kBinary)) {
    const Tensor edges = torch::tensor({0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 0}, torch::kInt64);
    const auto ising = std::make_shared<IsingModel>(edges.view({6, 2}), torch::full({6}, 0.4),
                                                    torch::linspace(-1, 1, 6));
    if (sampler.on_base) {
      const auto bernoulli = std::make_shared<BernoulliModel>(torch::linspace(-2, 3, 6));
      return std::make_shared<ResidualModel>(ising, bernoulli, ResidualOptions{.bound = 4});
    }
    return ising;
  }
  return std::make_shared<GaussianMixtureModel>(
      torch::tensor({0.3, 0.7}, torch::kFloat64),
      torch::tensor({{-1.5, 0.0, 1.0}, {1.0, 2.0, -0.5}}, torch::kFloat64),
      torch::tensor({{1.0, 2.0, 0.5}, {0.7, 1.0, 1.5}}, torch::kFloat64));
}

Outcome outcome(const std::string& name, const Ranks& ranks, std::function<bool()> stop = {},
                int64_t steps = 20) {
  constexpr int64_t kChains = 24;
  const SamplerEntry& entry = find_sampler(name);
  const auto model = target_of(entry);
  SamplerOptions options;
  options.adapt = entry.option("adapt") != nullptr;
  if (entry.option("group")) options.group = 4;
  const auto sampler = make_sampler(name, options, *model);
  const Shard own = ranks.shard(kChains, entry.option("group") ? 4 : 1);
  const Tensor ids = own.of(torch::arange(kChains));
  ChainState state = sampler->init(*model, random_states(model->space(), ids, 5, torch::kCPU), ids);
  StepParams params = sampler->params(5, torch::kCPU);
  const RunResult result = run(*model, *sampler, state, params, {.burn_in = 120, .steps = steps},
                               {}, {.ranks = &ranks, .stop = std::move(stop)});
  const HasWarmup* warmup = sampler->warmup();
  return {params.scale.clone(), state.x, state.current.energy,
          warmup ? warmup->learned(state) : NamedTensors{}, result};
}

// For any number of ranks, chains of every sampler on a closed-form model have the bits of one
// process: draws, energies, the parameters that burn-in adapts and learns, and the means over all
// chains.
TEST(Ranks, HaveTheBitsOfOneProcess) {
  for (const SamplerEntry& entry : sampler_registry()) {
    SCOPED_TRACE(entry.name);
    const Outcome whole = outcome(entry.name, Ranks::single_process());
    for (const int64_t size : {2, 3}) {
      SCOPED_TRACE(size);
      const auto parts =
          on_ranks<Outcome>(size, [&](const Ranks& ranks) { return outcome(entry.name, ranks); });
      std::vector<Tensor> x, energy;
      for (const Outcome& part : parts) {
        x.push_back(part.x);
        energy.push_back(part.energy);
        EXPECT_TRUE(torch::equal(part.scale, whole.scale));
        ASSERT_EQ(part.learned.size(), whole.learned.size());
        for (size_t i = 0; i < whole.learned.size(); ++i) {
          EXPECT_TRUE(torch::equal(part.learned[i].second, whole.learned[i].second))
              << whole.learned[i].first;
        }
        EXPECT_EQ(part.result.acceptance, whole.result.acceptance);
        EXPECT_EQ(part.result.hops, whole.result.hops);
        EXPECT_EQ(part.result.least_acceptance, whole.result.least_acceptance);
        EXPECT_EQ(part.result.unmoved, whole.result.unmoved);
      }
      EXPECT_TRUE(torch::equal(torch::cat(x), whole.x));
      EXPECT_TRUE(torch::equal(torch::cat(energy), whole.energy));
    }
  }
}

// One rank is told to stop: all end at the same step, long before the last.
TEST(Ranks, StopTogether) {
  constexpr int64_t kSteps = 10'000'000;
  const auto thirds = on_ranks<Outcome>(3, [](const Ranks& ranks) {
    int64_t asked = 0;
    const auto stop = [&] { return ranks.rank() == 1 && ++asked > 150; };
    return outcome("pafs", ranks, stop, kSteps);
  });
  for (const Outcome& third : thirds) {
    EXPECT_GT(third.result.steps, 0);
    EXPECT_LT(third.result.steps, kSteps / 10);
    EXPECT_EQ(third.result.steps, thirds[0].result.steps);
  }
}

// A stop request of one rank is granted on all ranks at the same call. Short steps take part in few
// exchanges; long steps exchange once each.
TEST(StopConsensus, GrantsToAllAtTheSameCall) {
  std::atomic<int64_t> words = 0;
  struct Call {
    int64_t stop = -1, save = -1;
    bool operator==(const Call&) const = default;
  };
  constexpr int64_t kCalls = 200'000, kWish = 1000;
  const auto calls = on_ranks<Call>(3, [&](const Ranks& ranks) {
    const CountedRank counted(ranks);
    StopConsensus stop_consensus(counted);
    Call granted;
    for (int64_t i = 0; i < kCalls; ++i) {
      const StopFlags flags = stop_consensus(
          {.stop = ranks.rank() == 2 && i == kWish, .save = ranks.rank() == 0 && i == 2 * kWish});
      if (flags.stop && granted.stop < 0) granted.stop = i;
      if (flags.save && granted.save < 0) granted.save = i;
    }
    words += counted.counts.sums;
    return granted;
  });
  EXPECT_EQ(calls[1], calls[0]);
  EXPECT_EQ(calls[2], calls[0]);
  EXPECT_GE(calls[0].stop, kWish);
  EXPECT_GE(calls[0].save, 2 * kWish);
  EXPECT_LT(words, 3 * kCalls / 100);

  words = 0;
  on_ranks<int64_t>(2, [&](const Ranks& ranks) {
    const CountedRank counted(ranks);
    StopConsensus stop_consensus(counted);
    for (int64_t i = 0; i < 5; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(260));
      stop_consensus({});
    }
    words += counted.counts.sums;
    return ranks.rank();
  });
  EXPECT_EQ(words, 2 * 4);  // the fifth exchange was not used
}

TEST(StopConsensus, OfOneRankIsAtOnce) {
  StopConsensus stop_consensus(Ranks::single_process());
  EXPECT_FALSE(stop_consensus({}).stop);
  const StopFlags flags = stop_consensus({.stop = true, .save = true});
  EXPECT_TRUE(flags.stop && flags.save);
}

}  // namespace
}  // namespace isinglass::context_test
