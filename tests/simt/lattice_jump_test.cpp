// kernels/jump/fast/lattice_jump.cu against its CPU twin and against the kernels that make the
// parts of a step one after the other. The chains are the same bit for bit, except for energies,
// which are summed in another order.
#include "kernels/jump/fast/lattice_jump.h"

#include "tests/kernels/lattice/random_graph.h"
#include "tests/simt/ring.h"

namespace isinglass {
namespace {

struct Case {
  int64_t chains, sites;
  JumpRule rule = JumpRule::kInterpolation;
  Balancing balancing = Balancing::kBarker;
  double scale = 0.4;
  bool unadjusted = false;
};

struct Outcome {
  std::vector<uint8_t> x;
  Sums energy, acceptance, acceptance_sum;
  std::vector<int64_t> hops, hops_sum, non_finite;
  bool operator==(const Outcome&) const = default;

  StepCounts counts() {
    return {acceptance.values.data(), hops.data(), acceptance_sum.values.data(), hops_sum.data(),
            non_finite.data()};
  }
};

// The initial states of steps, and the data that they need.
struct Start {
  const Graph& graph;
  const Case& of;
  JumpShape shape;
  std::vector<int64_t> ids;
  Outcome outcome;

  Start(const Graph& on, const Case& c)
      : graph(on), of(c), shape{c.chains, c.sites, 2, false, c.rule, c.balancing} {
    Inputs inputs(23);
    outcome.x = inputs.states(c.chains * c.sites, 2);
    ids = inputs.ids(c.chains);
    for (Sums* sums : {&outcome.energy, &outcome.acceptance, &outcome.acceptance_sum}) {
      sums->values.resize(c.chains);
    }
    outcome.hops = outcome.hops_sum = outcome.non_finite = std::vector<int64_t>(c.chains);
    cpu::lattice_evaluate(graph.lattice(), c.chains, outcome.x.data(), false, LocalTable::kGradient,
                          outcome.energy.values.data(), nullptr, nullptr, nullptr);
  }
};

std::vector<int32_t> thresholds(const JumpShape& shape, const Found& found, double scale,
                                Twin twin) {
  std::vector<int32_t> threshold(shape.sites * kSiteThresholds);
  (twin == Twin::kCpu ? cpu::find_thresholds : cuda::find_thresholds)(
      shape, found.neighbourhoods, &scale, threshold.data(), nullptr);
  return threshold;
}

Outcome by_table(const Graph& graph, const Found& found, const Case& c, int64_t launches,
                 int64_t steps, Twin twin) {
  Start start(graph, c);
  Outcome& o = start.outcome;
  const auto threshold = thresholds(start.shape, found, c.scale, Twin::kCpu);
  for (int64_t n = 0; n < launches; ++n) {
    const int64_t rng[] = {77, 4 + n * steps};
    (twin == Twin::kCpu ? cpu::lattice_jump_step : cuda::lattice_jump_step)(
        {steps, start.shape, found.neighbourhoods, threshold.data(), rng, start.ids.data(),
         o.x.data(), o.energy.values.data(), c.unadjusted, o.counts()},
        nullptr);
  }
  return o;
}

// Makes the steps by draw_jump, lattice_evaluate, score_jump and accept on a GPU.
Outcome step_by_step(const Graph& graph, const Case& c, int64_t steps) {
  Start start(graph, c);
  Outcome& o = start.outcome;
  const Lattice lattice = graph.lattice();
  std::vector<uint8_t> y(o.x.size());
  std::vector<float> gradient(o.x.size()), at_y(o.x.size());
  std::vector<double> proposed(c.chains), forward(c.chains), backward(c.chains);
  cuda::lattice_evaluate(lattice, c.chains, o.x.data(), false, LocalTable::kGradient,
                         o.energy.values.data(), gradient.data(), nullptr, nullptr);
  for (int64_t t = 0; t < steps; ++t) {
    const int64_t rng[] = {77, 4 + t};
    cuda::draw_jump(start.shape, o.x.data(), gradient.data(), rng, start.ids.data(), &c.scale,
                    y.data(), forward.data(), nullptr);
    cuda::lattice_evaluate(lattice, c.chains, y.data(), false, LocalTable::kGradient,
                           proposed.data(), at_y.data(), nullptr, nullptr);
    cuda::score_jump(start.shape, y.data(), at_y.data(), o.x.data(), &c.scale, backward.data(),
                     nullptr);
    AcceptedBuffers buffers{{{o.x.data(), y.data(), c.sites},
                             {o.energy.values.data(), proposed.data(), 8},
                             {gradient.data(), at_y.data(), 4 * c.sites}},
                            3};
    cuda::accept(
        c.chains, {o.x.data(), y.data(), c.sites, 1},
        {o.energy.values.data(), proposed.data(), forward.data(), backward.data(), c.unadjusted},
        rng, start.ids.data(), buffers, o.counts(), nullptr);
  }
  return o;
}

constexpr JumpRule kRules[] = {JumpRule::kInterpolation, JumpRule::kForwardEuler,
                               JumpRule::kBackwardEuler, JumpRule::kLangevin};

TEST(LatticeJumpTwins, FindTheSameThresholds) {
  const Graph graph(150, 3, 6);
  const Found found(graph);
  for (const JumpRule rule : kRules) {
    for (int g = 0; g < 4; ++g) {
      const JumpShape shape{1, graph.sites, 2, false, rule, static_cast<Balancing>(g)};
      expect_twins([&](Twin twin) { return thresholds(shape, found, 0.3, twin); });
    }
  }
}

TEST(LatticeJumpTwins, StepAlike) {
  constexpr int64_t kSteps = 5;
  int turn = 0;
  for (const int64_t sites : {1, 7, 33, 150, 700}) {
    const Graph graph(sites, 0.5, 6);
    const Found found(graph);
    for (const JumpRule rule : kRules) {
      const Case c{1 + turn % 3,
                   sites,
                   rule,
                   static_cast<Balancing>(turn % 4),
                   rule == JumpRule::kLangevin ? 0.3 : 0.2,
                   turn % 5 == 4};
      SCOPED_TRACE(testing::Message() << sites << " sites, rule " << static_cast<int>(rule));
      expect_twins([&](Twin twin) { return by_table(graph, found, c, 1, kSteps, twin); });
      EXPECT_TRUE(by_table(graph, found, c, 1, kSteps, Twin::kCuda) ==
                  step_by_step(graph, c, kSteps));
      ++turn;
    }
  }
}

// A launch of many steps gives the result of as many launches, bit for bit. Some steps are
// accepted, some are not.
TEST(LatticeJumpTwins, ManyStepsALaunch) {
  const Case c{3, 150};
  const Graph graph(c.sites, 0.5, 9);
  const Found found(graph);
  const Outcome one = by_table(graph, found, c, 20, 1, Twin::kCuda);
  const Outcome many = by_table(graph, found, c, 1, 20, Twin::kCuda);
  EXPECT_TRUE(one == many);
  EXPECT_EQ(one.energy.values, many.energy.values);
  EXPECT_EQ(one.acceptance_sum.values, many.acceptance_sum.values);
  double accepted = 0;
  for (int64_t i = 0; i < c.chains; ++i) {
    accepted += many.acceptance_sum.values[i];
    EXPECT_GT(many.hops_sum[i], 0);
    EXPECT_EQ(many.non_finite[i], 0);
  }
  EXPECT_LT(accepted, 0.95 * 20 * c.chains);
  EXPECT_GT(accepted, 0.05 * 20 * c.chains);
  EXPECT_TRUE(by_table(graph, found, c, 1, 0, Twin::kCuda) ==
              by_table(graph, found, c, 0, 1, Twin::kCuda));
}

// Bit for bit, energies too.
TEST(LatticeJumpTwins, ChainsDoNotDependOnTheWarpsTheyHave) {
  const Case c{2, 2500};
  const Graph graph(c.sites, 0.5, 3);
  const Found found(graph);
  for (const unsigned threads : {32u, 96u, 512u}) {
    simt::set_schedule({.threads = threads});
    const Outcome other = by_table(graph, found, c, 1, 2, Twin::kCuda);
    simt::set_schedule({});
    const Outcome own = by_table(graph, found, c, 1, 2, Twin::kCuda);
    EXPECT_TRUE(other == own);
    EXPECT_EQ(other.energy.values, own.energy.values);
    EXPECT_EQ(other.acceptance_sum.values, own.acceptance_sum.values);
  }
}

// Launches fit on a T4, too, and exactly when they are allowed.
TEST(LatticeJumpTwins, FitSharedMemory) {
  const SharedMemory limit(simt::kTuring);
  EXPECT_TRUE(cuda::lattice_jump_fits(100 * 100, 0));
  EXPECT_FALSE(cuda::lattice_jump_fits(1024 * 1024, 0));
  simt::set_shared_memory_limit(4000);
  int64_t sites = 100;
  while (cuda::lattice_jump_fits(sites + 1, 0)) ++sites;
  const auto launch = [](int64_t count) {
    const Graph graph(count, 0.5, 3);
    by_table(graph, Found(graph), {1, count}, 1, 1, Twin::kCuda);
  };
  launch(sites);
  EXPECT_THROW(launch(sites + 1), std::logic_error);
}

}  // namespace
}  // namespace isinglass
