// One-site moves, Gibbs draws and random states: CUDA twins against CPU twins.
#include "kernels/gibbs/one_site.h"
#include "kernels/random/random_states.h"
#include "kernels/random_walk/random_walk.h"
#include "tests/simt/twins.h"

namespace isinglass {
namespace {

TEST(UniformFlipsTwins, FlipAlike) {
  for (const Size& size : sizes()) {
    for (const int categories : {2, 7, 256}) {
      for (const bool random_count : {false, true}) {
        const double radius = std::min<double>(4.0, static_cast<double>(size.sites));
        expect_twins(
            [&](Twin twin) {
              Inputs inputs(7);
              const int64_t rng[] = {3, 2};
              const auto x = inputs.states(size.chains * size.sites, categories);
              const auto ids = inputs.ids(size.chains);
              std::vector<uint8_t> y(x.size());
              (twin == Twin::kCpu ? cpu::flip_uniformly : cuda::flip_uniformly)(
                  size.chains, size.sites, categories, x.data(), rng, ids.data(), &radius,
                  random_count, y.data(), nullptr);
              return y;
            },
            /*any_block=*/true);
      }
    }
  }
}

struct GibbsOutcome {
  std::vector<int64_t> site, choice, hops, hops_sum, non_finite;
  std::vector<uint8_t> x, neighbours;
  std::vector<double> energy, difference, acceptance, acceptance_sum;
  bool operator==(const GibbsOutcome&) const = default;
};

GibbsOutcome gibbs(const Size& size, int categories, bool systematic, Twin twin) {
  Inputs inputs(8);
  const int64_t b = size.chains, others = categories - 1;
  const bool cpu = twin == Twin::kCpu;
  const int64_t rng[] = {3, 5};
  const auto ids = inputs.ids(b);
  const auto neighbour_energy = inputs.reals<double>(b * others, 2);
  GibbsOutcome o{std::vector<int64_t>(b),
                 std::vector<int64_t>(b),
                 std::vector<int64_t>(b),
                 std::vector<int64_t>(b),
                 std::vector<int64_t>(b),
                 inputs.states(b * size.sites, categories),
                 std::vector<uint8_t>(b * others * size.sites),
                 inputs.reals<double>(b, 2),
                 std::vector<double>(b * categories),
                 std::vector<double>(b),
                 std::vector<double>(b)};
  const StepCounts counts{o.acceptance.data(), o.hops.data(), o.acceptance_sum.data(),
                          o.hops_sum.data(), o.non_finite.data()};
  (cpu ? cpu::choose_sites : cuda::choose_sites)(b, size.sites, systematic, rng, ids.data(),
                                                 o.site.data(), nullptr);
  (cpu ? cpu::one_site_neighbours : cuda::one_site_neighbours)(
      b, size.sites, categories, o.x.data(), o.site.data(), o.neighbours.data(), nullptr);
  (cpu ? cpu::neighbour_differences : cuda::neighbour_differences)(
      b, size.sites, categories, o.x.data(), o.site.data(), o.energy.data(),
      neighbour_energy.data(), o.difference.data(), nullptr);
  (cpu ? cpu::draw_conditionals : cuda::draw_conditionals)(
      b, size.sites, categories, o.difference.data(), o.site.data(), rng, ids.data(), o.x.data(),
      o.energy.data(), o.choice.data(), counts, nullptr);
  return o;
}

TEST(GibbsTwins, DrawAlike) {
  for (const Size& size : {Size{1, 1}, Size{5, 7}, Size{9, 33}, Size{150, 20}}) {
    for (const int categories : {2, 3, 7}) {
      for (const bool systematic : {false, true}) {
        expect_twins([&](Twin twin) { return gibbs(size, categories, systematic, twin); });
      }
    }
  }
}

TEST(RandomTwins, DrawAlike) {
  for (const Size& size : sizes()) {
    expect_twins(
        [&](Twin twin) {
          Inputs inputs(9);
          const auto p = inputs.reals<float>(size.sites, 0.5);
          const auto ids = inputs.ids(size.chains);
          const RowDraws draws{size.chains, size.sites, ids.data(), 4, 2, Purpose::kBinarise};
          std::vector<double> rows;  // rows of 5 values that sum to 1
          for (const float first : inputs.reals<float>(size.sites, 0.5)) {
            const double weight = 0.5 + std::abs(first);
            for (const double part : {weight, 0.0, 1.0, 2.0, 0.25}) {
              rows.push_back(part / (weight + 3.25));
            }
          }
          std::vector<uint8_t> out(3 * size.chains * size.sites);
          std::vector<int64_t> permutations(size.chains * size.sites);
          std::vector<float> normals(size.chains * size.sites);
          (twin == Twin::kCpu ? cpu::bernoulli_rows : cuda::bernoulli_rows)(draws, p.data(), 0,
                                                                            out.data(), nullptr);
          (twin == Twin::kCpu ? cpu::uniform_rows : cuda::uniform_rows)(
              draws, 5, out.data() + size.chains * size.sites, nullptr);
          (twin == Twin::kCpu ? cpu::categorical_rows : cuda::categorical_rows)(
              draws, rows.data(), 5, out.data() + 2 * size.chains * size.sites, nullptr);
          (twin == Twin::kCpu ? cpu::permutation_rows : cuda::permutation_rows)(
              draws, permutations.data(), nullptr);
          (twin == Twin::kCpu ? cpu::normal_rows : cuda::normal_rows)(draws, normals.data(),
                                                                      nullptr);
          return std::tuple(out, permutations, normals);
        },
        /*any_block=*/true);
  }
}

TEST(LimitedTwins, DrawAlike) {
  constexpr int kCategories = 3;
  for (const Size& size : {Size{1, 1}, Size{6, 7}, Size{150, 33}}) {
    for (const int64_t tables : {int64_t{1}, size.chains / 2 + (size.chains == 1)}) {
      expect_twins(
          [&](Twin twin) {
            Inputs inputs(12);
            const int64_t rng[] = {3, 5}, columns = 4, entries = tables * size.sites;
            const auto ids = inputs.ids(size.chains);
            std::vector<double> p(size.sites * kCategories), change(entries * columns);
            const auto differs = std::make_unique<bool[]>(entries * kCategories);
            std::vector<int64_t> most(tables);
            for (size_t i = 0; i < p.size(); ++i) p[i] = (1.0 + static_cast<double>(i % 3)) / 6;
            for (int64_t i = 0; i < entries * kCategories; ++i) differs[i] = i % 5 > 1;
            for (size_t i = 0; i < change.size(); ++i) {
              change[i] = i % columns == 0 ? 0 : static_cast<double>(i % 7) / 6;
            }
            for (int64_t n = 0; n < tables; ++n) most[n] = n % columns;
            RowDraws draws{size.chains, size.sites, ids.data(), 0, 0, Purpose::kReference};
            draws.rng = rng;
            std::vector<uint8_t> out(size.chains * size.sites);
            (twin == Twin::kCpu ? cpu::limited_rows : cuda::limited_rows)(
                draws,
                LimitedSites{tables, kCategories, columns, p.data(), differs.get(), change.data(),
                             most.data()},
                out.data(), nullptr);
            return out;
          },
          /*any_block=*/true);
    }
  }
}

}  // namespace
}  // namespace isinglass
