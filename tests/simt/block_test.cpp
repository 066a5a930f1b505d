// kernels/{block,chromatic}.cu against their CPU twins.
#include "kernels/accept/metropolis.h"
#include "kernels/gibbs/block_gibbs.h"
#include "kernels/gibbs/chromatic.h"
#include "tests/simt/ring.h"

namespace isinglass {
namespace {

const int64_t kRng[] = {99, 4};

struct Counts {
  explicit Counts(int64_t chains)
      : acceptance(chains),
        acceptance_sum(chains),
        hops(chains),
        hops_sum(chains),
        non_finite(chains) {}
  StepCounts pointers() {
    return {acceptance.data(), hops.data(), acceptance_sum.data(), hops_sum.data(),
            non_finite.data()};
  }
  std::vector<double> acceptance, acceptance_sum;
  std::vector<int64_t> hops, hops_sum, non_finite;
  bool operator==(const Counts&) const = default;
};

struct BlockOutcome {
  std::vector<int32_t> site, centre;
  std::vector<uint8_t> u, x, states;
  Sums table, energy;
  std::vector<int64_t> choice;
  Counts counts;
  bool operator==(const BlockOutcome&) const = default;
};

// Changes of at most one of two sites, K = 3: none, +1 and +2 on each.
const int32_t kEntry[] = {0, 1, 2, 256 + 1, 256 + 2};
const int32_t kInverse[] = {0, 2, 1, 4, 3};

BlockOutcome block(const Size& size, bool uniform_centre, Twin twin, bool tables = false) {
  Inputs inputs(14);
  const bool cpu = twin == Twin::kCpu;
  const int64_t b = size.chains, n = b * size.sites;
  Ring ring(size.sites, 3, inputs);
  if (tables) ring.add_tables(3, inputs);
  const Lattice lattice = ring.lattice(size.sites, 3);
  const auto ids = inputs.ids(b);
  BlockOutcome o{
      std::vector<int32_t>(b * 2),  std::vector<int32_t>(b),     std::vector<uint8_t>(n),
      inputs.states(n, 3),          std::vector<uint8_t>(n * 4), {std::vector<double>(b * 5)},
      {inputs.reals<double>(b, 1)}, std::vector<int64_t>(b),     Counts(b)};
  const Blocks blocks{
      b, size.sites, 3, 2, {5, 1, kEntry, kInverse}, o.site.data(), o.centre.data()};
  (cpu ? cpu::choose_blocks : cuda::choose_blocks)(blocks, uniform_centre, kRng, ids.data(),
                                                   o.x.data(), o.u.data(), nullptr);
  (cpu ? cpu::block_states : cuda::block_states)(blocks, o.u.data(), 1, 4, o.states.data(),
                                                 nullptr);
  (cpu ? cpu::lattice_block_energies : cuda::lattice_block_energies)(
      lattice, blocks, o.u.data(), o.energy.values.data(), o.table.values.data(), nullptr);
  (cpu ? cpu::draw_blocks : cuda::draw_blocks)(blocks, o.table.values.data(), kRng, ids.data(),
                                               o.x.data(), o.u.data(), o.energy.values.data(),
                                               o.choice.data(), o.counts.pointers(), nullptr);
  return o;
}

TEST(BlockTwins, DrawAlike) {
  for (const Size& size : sizes()) {
    if (size.sites < 2) continue;
    for (const bool uniform_centre : {false, true}) {
      expect_twins([&](Twin twin) { return block(size, uniform_centre, twin); });
    }
    expect_twins([&](Twin twin) { return block(size, false, twin, /*tables=*/true); });
  }
}

struct SweepOutcome {
  std::vector<uint8_t> x;
  Sums energy;
  Counts counts;
  bool operator==(const SweepOutcome&) const = default;
};

// Makes `launches` calls of `steps` steps each, with or without one β per chain. broken: the energy
// of a value is not finite.
SweepOutcome sweep(const Size& size, int categories, int launches, int64_t steps, Twin twin,
                   bool tempered = false, bool broken = false, bool tables = false,
                   SiteRule rule = SiteRule::kHeatBath) {
  Inputs inputs(15);
  Ring ring(size.sites, categories, inputs);
  if (broken) ring.unary[1] = NAN;
  if (tables) ring.add_tables(categories, inputs);
  // Even sites, odd sites, and the last one of an odd ring.
  std::vector<int32_t> site;
  std::vector<int64_t> offset = {0};
  const int64_t last = size.sites - size.sites % 2;
  for (int64_t colour = 0; colour < 3; ++colour) {
    for (int64_t i = colour == 2 ? last : colour; i < (colour == 2 ? size.sites : last); i += 2) {
      site.push_back(static_cast<int32_t>(i));
    }
    offset.push_back(static_cast<int64_t>(site.size()));
  }
  const auto ids = inputs.ids(size.chains);
  const auto beta = inputs.reals<double>(size.chains, 1);
  SweepOutcome o{inputs.states(size.chains * size.sites, categories),
                 {std::vector<double>(size.chains)},
                 Counts(size.chains)};
  cpu::lattice_evaluate(ring.lattice(size.sites, categories), size.chains, o.x.data(), false,
                        LocalTable::kGradient, o.energy.values.data(), nullptr, nullptr, nullptr);
  std::vector<double> scratch(cuda::sweep_scratch(size.chains, size.sites), NAN);
  int64_t rng[] = {kRng[0], kRng[1]};
  for (int n = 0; n < launches; ++n) {
    (twin == Twin::kCpu ? cpu::chromatic_sweep : cuda::chromatic_sweep)(
        ring.lattice(size.sites, categories), {3, offset.data(), site.data(), rule}, size.chains,
        steps, rng, ids.data(), tempered ? beta.data() : nullptr, o.x.data(),
        o.energy.values.data(), o.counts.pointers(), scratch.data(), nullptr);
    (twin == Twin::kCpu ? cpu::advance : cuda::advance)(rng, steps, nullptr);
  }
  return o;
}

TEST(ChromaticTwins, SweepAlike) {
  for (const Size& size : sizes()) {
    for (const int categories : {2, 5}) {
      for (const auto& [tempered, tables] :
           {std::pair{false, false}, {true, false}, {true, true}}) {
        expect_twins([&, tempered = tempered, tables = tables](Twin twin) {
          return sweep(size, categories, 1, 2, twin, tempered, false, tables);
        });
        if (categories != 2) continue;
        expect_twins([&, tempered = tempered, tables = tables](Twin twin) {
          return sweep(size, 2, 1, 2, twin, tempered, false, tables, SiteRule::kMetropolis);
        });
      }
    }
  }
}

// States that exceed a block: one launch per colour.
constexpr Size kLarge = {2, 32801};

TEST(ChromaticTwins, SweepLargeStatesAlike) {
  for (const int categories : {2, 5}) {
    for (const bool tempered : {false, true}) {
      expect_twins([&](Twin twin) { return sweep(kLarge, categories, 1, 2, twin, tempered); });
      if (categories != 2) continue;
      expect_twins([&](Twin twin) {
        return sweep(kLarge, 2, 1, 2, twin, tempered, false, false, SiteRule::kMetropolis);
      });
    }
  }
}

TEST(ChromaticTwins, CountSweepsWithEnergiesThatAreNotFinite) {
  for (const auto& [size, steps] : {std::pair{Size{2, 7}, 70}, {kLarge, 2}}) {
    for (const int categories : {2, 5}) {
      EXPECT_EQ(sweep(size, categories, 1, steps, Twin::kCpu, false, true).counts.non_finite,
                std::vector<int64_t>(2, steps));
      expect_twins([&, s = size, n = steps](Twin twin) {
        const SweepOutcome o = sweep(s, categories, 1, n, twin, false, true);
        return std::pair(o.x, o.counts);
      });
    }
  }
}

// A launch of many steps gives the result of as many launches, bit for bit.
TEST(ChromaticTwins, ManyStepsALaunch) {
  for (const Size& size : {Size{3, 7}, Size{2, 100}, kLarge}) {
    for (const int categories : {2, 5}) {
      for (const Twin twin : {Twin::kCpu, Twin::kCuda}) {
        const int64_t steps = size.sites > 1000 ? 2 : size.sites > 10 ? 6 : 70;
        const SweepOutcome one = sweep(size, categories, static_cast<int>(steps), 1, twin);
        const SweepOutcome many = sweep(size, categories, 1, steps, twin);
        EXPECT_TRUE(one == many);
        EXPECT_EQ(one.energy.values, many.energy.values);
        EXPECT_NE(one.x, sweep(size, categories, 0, 1, twin).x);
      }
    }
  }
}

}  // namespace
}  // namespace isinglass
