// kernels/lattice/lattice.cu against lattice_cpu.cpp. Energies are summed in another order, so to
// rounding.
#include "kernels/lattice/lattice.h"

#include "tests/simt/ring.h"

namespace isinglass {
namespace {

struct Outcome {
  Sums energy, difference;
  std::vector<float> gradient, differences;
  bool operator==(const Outcome&) const = default;
};

Outcome run(const Size& size, int categories, bool one_hot, Twin twin) {
  Inputs inputs(10);
  const bool cpu = twin == Twin::kCpu;
  const Ring ring(size.sites, categories, inputs);
  const Lattice lattice = ring.lattice(size.sites, categories);
  const auto x = inputs.states(size.chains * size.sites, categories);
  std::vector<int64_t> site = inputs.ids(size.chains);
  for (int64_t& s : site) s %= size.sites;
  Outcome o{{std::vector<double>(size.chains)},
            {std::vector<double>(size.chains * categories)},
            std::vector<float>(size.chains * size.sites * (one_hot ? categories : 1)),
            std::vector<float>(size.chains * size.sites * (one_hot ? categories : 1))};
  const auto evaluate = cpu ? cpu::lattice_evaluate : cuda::lattice_evaluate;
  evaluate(lattice, size.chains, x.data(), one_hot, LocalTable::kGradient, o.energy.values.data(),
           o.gradient.data(), nullptr);
  evaluate(lattice, size.chains, x.data(), one_hot, LocalTable::kDifferences,
           o.energy.values.data(), o.differences.data(), nullptr);
  (cpu ? cpu::lattice_differences : cuda::lattice_differences)(
      lattice, size.chains, x.data(), site.data(), o.difference.values.data(), nullptr);
  return o;
}

TEST(LatticeTwins, EvaluateAlike) {
  for (const Size& size : sizes()) {
    expect_twins([&](Twin twin) { return run(size, 2, false, twin); });
    for (const int categories : {2, 5}) {
      expect_twins([&](Twin twin) { return run(size, categories, true, twin); });
    }
  }
}

}  // namespace
}  // namespace isinglass
