// kernels/rbm/rbm_gibbs.cu against rbm_gibbs_cpu.cpp, bit for bit; and several sweeps of one
// launch against as many launches.
#include <memory>

#include "kernels/rbm/rbm_gibbs.h"
#include "tests/simt/twins.h"

namespace isinglass {
namespace {

struct Outcome {
  std::vector<uint8_t> x;
  std::vector<double> inputs, energy, acceptance, acceptance_sum;
  std::vector<int64_t> hops, hops_sum, non_finite;
  bool operator==(const Outcome&) const = default;
};

// The biases [columns] and entry(unit, column) in tiles.
template <class Entry>
std::vector<float> tiled(const std::vector<float>& biases, int64_t units, Entry entry) {
  const auto columns = static_cast<int64_t>(biases.size());
  std::vector<float> all(tile_count(columns) * tile_rows(units) * kTileColumns);
  const TiledMatrix weights{all.data(), units, columns};
  for (int64_t j = 0; j < columns; ++j) {
    const int64_t at = weights.biases(j / kTileColumns) - all.data() + j % kTileColumns;
    all[at] = biases[j];
    for (int64_t i = 0; i < units; ++i) all[at + (1 + i) * kTileColumns] = entry(i, j);
  }
  return all;
}

// Makes `launches` launches of `steps` sweeps each. betas: the number of points of the joint path;
// 0: only its end. Biases lie around `bias`.
// `holds`: about a third of the sites keep their values.
Outcome run(const SweepShape& s, int64_t launches, int64_t steps, Twin twin, int64_t betas = 0,
            float bias = 0, bool holds = false) {
  Inputs inputs(21);
  const auto w = inputs.reals<float>(s.hidden * s.visible(), 0.3);
  auto visible_biases = inputs.reals<float>(s.visible(), 1);
  auto hidden_biases = inputs.reals<float>(s.hidden, 1);
  for (auto* biases : {&visible_biases, &hidden_biases}) {
    for (float& b : *biases) b += bias;
  }
  const auto weight = [&](int64_t h, int64_t i) { return w[h * s.visible() + i]; };
  const auto to_visible = tiled(visible_biases, s.hidden, weight);
  const auto to_hidden =
      tiled(hidden_biases, s.visible(), [&](int64_t i, int64_t h) { return weight(h, i); });
  const auto ids = inputs.ids(s.chains);
  const int64_t b = s.chains;
  Outcome o{inputs.states(b * s.sites, s.columns == 1 ? 2 : s.columns),
            inputs.reals<double>(b * s.hidden, 2),
            std::vector<double>(b),
            std::vector<double>(b),
            std::vector<double>(b),
            std::vector<int64_t>(b),
            std::vector<int64_t>(b),
            std::vector<int64_t>(b)};
  o.inputs[0] = INFINITY;  // counted
  const std::vector<uint8_t> start = o.x;
  const auto held = std::make_unique<bool[]>(b * s.sites);
  for (int64_t n = 0; n < b * s.sites; ++n) held[n] = n % 7 < 2;
  const auto logits = inputs.reals<float>(s.visible(), 1);
  std::vector<double> beta(betas);
  for (int64_t n = 0; n < betas; ++n) beta[n] = betas == 1 ? 0.3 : n / (betas - 1.0);
  const SweepPath path{betas > 0 ? beta.data() : nullptr, betas, logits.data()};
  std::vector<float> visible_inputs(b * s.visible());
  std::vector<uint32_t> words(twin == Twin::kCpu ? 0 : cuda::sweep_words(s), 0xdeadbeef);
  int64_t rng[] = {5, 3};
  for (int64_t n = 0; n < launches; ++n, rng[1] += steps) {
    (twin == Twin::kCpu ? cpu::sweep_hidden : cuda::sweep_hidden)(
        s, {to_visible.data(), to_hidden.data(), visible_biases.data()}, steps,
        {rng,
         ids.data(),
         o.x.data(),
         o.inputs.data(),
         o.energy.data(),
         visible_inputs.data(),
         {o.acceptance.data(), o.hops.data(), o.acceptance_sum.data(), o.hops_sum.data(),
          o.non_finite.data()},
         words.data(),
         path,
         holds ? held.get() : nullptr},
        nullptr);
  }
  for (int64_t n = 0; holds && n < b * s.sites; ++n) {
    if (held[n]) {
      EXPECT_EQ(o.x[n], start[n]);
    }
  }
  // The energies after sweeps are those of the states.
  std::vector<double> energy(b);
  (twin == Twin::kCpu ? cpu::free_energies : cuda::free_energies)(
      s, visible_biases.data(), path, {o.x.data(), o.inputs.data(), energy.data()}, nullptr);
  EXPECT_EQ(energy, o.energy);
  return o;
}

TEST(HiddenSweepTwins, SweepAlike) {
  struct Machine {
    int64_t chains, sites, hidden;
  };
  for (const auto& [chains, sites, hidden] :
       {Machine{1, 1, 1}, {9, 7, 1}, {9, 7, 70}, {30, 33, 31}, {2, 150, 70}}) {
    for (const int columns : {1, 3}) {
      const SweepShape shape{chains, sites, columns, hidden};
      expect_twins([&](Twin twin) { return run(shape, 1, 2, twin); });
      const Outcome apart = run(shape, 3, 1, Twin::kCpu);
      EXPECT_TRUE(run(shape, 1, 3, Twin::kCpu) == apart);
      EXPECT_TRUE(run(shape, 1, 3, Twin::kCuda) == apart);
      EXPECT_EQ(apart.non_finite[0], 1);
    }
  }
}

TEST(HiddenSweepTwins, HeldSitesKeepTheirValues) {
  for (const Size& size : {Size{2, 5}, Size{9, 7}, Size{30, 133}}) {
    for (const int columns : {1, 3}) {
      const SweepShape shape{size.chains, size.sites, columns, 31};
      expect_twins([&](Twin twin) { return run(shape, 1, 2, twin, 0, 0, true); });
      const Outcome apart = run(shape, 3, 1, Twin::kCpu, 1, 0, true);
      EXPECT_TRUE(run(shape, 1, 3, Twin::kCuda, 1, 0, true) == apart);
      EXPECT_FALSE(run(shape, 3, 1, Twin::kCpu, 1) == apart);
    }
  }
}

// One β, and one a chain from 0 to 1.
TEST(HiddenSweepTwins, SweepAlikeOnTheJointPath) {
  for (const Size& size : {Size{2, 5}, Size{9, 7}, Size{30, 33}}) {
    for (const int columns : {1, 3}) {
      const SweepShape shape{size.chains, size.sites, columns, 31};
      for (const int64_t betas : {int64_t{1}, size.chains}) {
        expect_twins([&](Twin twin) { return run(shape, 1, 2, twin, betas); });
        const Outcome apart = run(shape, 3, 1, Twin::kCpu, betas);
        EXPECT_TRUE(run(shape, 1, 3, Twin::kCpu, betas) == apart);
        EXPECT_FALSE(run(shape, 1, 3, Twin::kCpu) == apart);
      }
    }
  }
}

// For chains in any order on ladders, in two steps, the second of which measures all pairs: returns
// their energies on their own and on the adjacent rungs, which free_energies() computes as well.
std::vector<double> run_beside(const SweepShape& s, int64_t rungs, Twin twin) {
  constexpr double kNone = 7;
  Inputs inputs(22);
  const auto biases = inputs.reals<float>(s.visible(), 1),
             logits = inputs.reals<float>(s.visible(), 1);
  const auto x = inputs.states(s.chains * s.sites, s.columns == 1 ? 2 : s.columns);
  const auto a = inputs.reals<double>(s.chains * s.hidden, 2);
  std::vector<double> beta(rungs), there(s.chains), all;
  for (int64_t i = 0; i < rungs; ++i) beta[i] = std::sqrt(i / (rungs - 1.0));
  std::vector<int64_t> chain(s.chains);
  for (int64_t n = 0; n < s.chains; ++n) {
    chain[n] = n / rungs * rungs + (n * (rungs - 1) + 1) % rungs;
  }
  const bool cpu = twin == Twin::kCpu;
  for (const int64_t step : {3, 4}) {
    std::vector<double> energy(s.chains, kNone), below = energy, above = energy;
    const int64_t rng[] = {5, step};
    (cpu ? cpu::energies_at_adjacent_rungs : cuda::energies_at_adjacent_rungs)(s, biases.data(),
                                                                               {rungs,
                                                                                beta.data(),
                                                                                logits.data(),
                                                                                chain.data(),
                                                                                x.data(),
                                                                                a.data(),
                                                                                energy.data(),
                                                                                below.data(),
                                                                                above.data(),
                                                                                {4, 2, 1, false},
                                                                                rng},
                                                                               nullptr);
    const auto measured = [&](int64_t pair) {
      return pair >= 0 && pair + 1 < rungs && (step == 4 || pair % 2 == 1);
    };
    for (int64_t i = 0; i < rungs; ++i) {
      (cpu ? cpu::free_energies : cuda::free_energies)(s, biases.data(),
                                                       {&beta[i], 1, logits.data()},
                                                       {x.data(), a.data(), there.data()}, nullptr);
      for (int64_t n = 0; n < s.chains; ++n) {
        const int64_t own = n % rungs, c = chain[n];
        if (own == i) {
          EXPECT_EQ(energy[c], there[c]);
        }
        if (own == i - 1) {
          EXPECT_EQ(above[c], measured(own) ? there[c] : kNone);
        }
        if (own == i + 1) {
          EXPECT_EQ(below[c], measured(i) ? there[c] : kNone);
        }
      }
    }
    for (const auto& some : {energy, below, above}) all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

TEST(HiddenSweepTwins, EnergiesOnTheRungsBeside) {
  struct Machine {
    int64_t hidden, rungs;
  };
  for (const int columns : {1, 3}) {
    for (const auto& [hidden, rungs] : {Machine{1, 2}, {31, 3}, {64, 5}, {530, 3}}) {
      const SweepShape shape{3 * rungs, 33, columns, hidden};
      expect_twins([&](Twin twin) { return run_beside(shape, rungs, twin); });
    }
  }
}

// There are more units than the shared memory of a block holds on the smallest GPU, and more than
// two stages of rows, the last one incomplete.
TEST(HiddenSweepTwins, ManyUnits) {
  const SharedMemory limit(simt::kTuring);
  for (const SweepShape& shape : {SweepShape{17, 210, 1, 333}, SweepShape{3, 70, 5, 129}}) {
    expect_twins([&](Twin twin) { return run(shape, 1, 2, twin); });
  }
}

// The CPU skips units that are off in all eight chains; here these are most, or all.
TEST(HiddenSweepTwins, UnitsThatAreOff) {
  for (const int64_t chains : {1, 19}) {
    const SweepShape shape{chains, 150, 1, 150};
    for (const float bias : {-3.f, -90.f}) {
      expect_twins([&](Twin twin) { return run(shape, 1, 2, twin, 0, bias); });
    }
  }
}

// The CPU's tables of sums are used for at most 256 chains.
TEST(HiddenSweepTwins, ManyChains) {
  const SweepShape shape{270, 3, 1, 7};
  expect_twins([&](Twin twin) { return run(shape, 1, 1, twin); });
}

}  // namespace
}  // namespace isinglass
