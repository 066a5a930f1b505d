// kernels/lattice/lattice.cu against lattice_cpu.cpp. Energies are summed in another order, so that
// they are equal up to rounding.
#include "kernels/lattice/lattice.h"

#include "kernels/lattice/fast/table_evaluate.h"
#include "tests/kernels/lattice/random_graph.h"
#include "tests/simt/ring.h"

namespace isinglass {
namespace {

struct Outcome {
  Sums energy, difference;
  std::vector<float> gradient, differences;
  bool operator==(const Outcome&) const = default;
};

Outcome run(const Size& size, int categories, bool one_hot, Twin twin, bool tables = false) {
  Inputs inputs(10);
  const bool cpu = twin == Twin::kCpu;
  Ring ring(size.sites, categories, inputs);
  if (tables) ring.add_tables(categories, inputs);
  const Lattice lattice = ring.lattice(size.sites, categories);
  const auto x = inputs.states(size.chains * size.sites, categories);
  std::vector<int64_t> site = inputs.ids(size.chains);
  for (int64_t& s : site) s %= size.sites;
  Outcome o{{std::vector<double>(size.chains)},
            {std::vector<double>(size.chains * categories)},
            std::vector<float>(size.chains * size.sites * (one_hot ? categories : 1)),
            std::vector<float>(size.chains * size.sites * (one_hot ? categories : 1))};
  std::vector<double> parts(size.chains * lattice_parts(size.sites), NAN);
  const auto evaluate = cpu ? cpu::lattice_evaluate : cuda::lattice_evaluate;
  evaluate(lattice, size.chains, x.data(), one_hot, LocalTable::kGradient, o.energy.values.data(),
           o.gradient.data(), parts.data(), nullptr);
  evaluate(lattice, size.chains, x.data(), one_hot, LocalTable::kDifferences,
           o.energy.values.data(), o.differences.data(), parts.data(), nullptr);
  (cpu ? cpu::lattice_differences : cuda::lattice_differences)(
      lattice, size.chains, x.data(), site.data(), o.difference.values.data(), nullptr);
  return o;
}

TEST(LatticeTwins, EvaluateAlike) {
  for (const Size& size : sizes()) {
    expect_twins([&](Twin twin) { return run(size, 2, false, twin); });
    for (const int categories : {2, 5}) {
      for (const bool tables : {false, true}) {
        expect_twins([&](Twin twin) { return run(size, categories, true, twin, tables); });
      }
    }
  }
}

// Several blocks evaluate one chain.
TEST(LatticeTwins, EvaluateLargeStatesAlike) {
  const Size size{3, 2 * kPartSites + 5};
  expect_twins([&](Twin twin) { return run(size, 2, false, twin); });
  expect_twins([&](Twin twin) { return run(size, 3, true, twin); });
}

// Table look-ups give the same gradient, bit for bit.
TEST(LatticeTwins, TablesEvaluateAlike) {
  for (const Size& size : {Size{3, 1}, Size{2, 100}, Size{3, 2 * kPartSites + 5}}) {
    const Graph graph(size.sites, 0.5, 6);
    const Found found(graph);
    Inputs inputs(12);
    const auto x = inputs.states(size.chains * size.sites, 2);
    expect_twins([&](Twin twin) {
      std::pair<Sums, std::vector<float>> o{{std::vector<double>(size.chains)},
                                            std::vector<float>(size.chains * size.sites)};
      std::vector<double> parts(size.chains * lattice_parts(size.sites), NAN);
      if (twin == Twin::kCpu) {
        cpu::lattice_evaluate(graph.lattice(), size.chains, x.data(), false, LocalTable::kGradient,
                              o.first.values.data(), o.second.data(), nullptr, nullptr);
      } else {
        cuda::table_evaluate(found.neighbourhoods, size.chains, x.data(), o.first.values.data(),
                             o.second.data(), parts.data(), nullptr);
      }
      return o;
    });
  }
}

// A chain's energy does not depend on how many others there are.
TEST(LatticeTwins, PartsAreSummedInTheirOrder) {
  const int64_t sites = 5 * kPartSites + 1;
  Inputs inputs(11);
  const Ring ring(sites, 2, inputs);
  const auto x = inputs.states(3 * sites, 2);
  std::vector<double> together(3), apart(3), parts(3 * lattice_parts(sites), NAN);
  cuda::lattice_evaluate(ring.lattice(sites, 2), 3, x.data(), false, LocalTable::kGradient,
                         together.data(), nullptr, parts.data(), nullptr);
  for (int64_t c = 0; c < 3; ++c) {
    cuda::lattice_evaluate(ring.lattice(sites, 2), 1, x.data() + c * sites, false,
                           LocalTable::kGradient, &apart[c], nullptr, parts.data(), nullptr);
  }
  EXPECT_EQ(together, apart);
}

}  // namespace
}  // namespace isinglass
