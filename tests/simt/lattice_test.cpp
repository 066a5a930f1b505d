// kernels/lattice.cu against lattice_cpu.cpp. Energies are summed in another order, so to rounding.
#include "kernels/lattice.h"

#include "tests/simt/twins.h"

namespace isinglass {
namespace {

// Equal but for the rounding of sums over sites.
struct Sums {
  std::vector<double> values;
  bool operator==(const Sums& other) const {
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::abs(values[i] - other.values[i]) > 1e-12 * (1 + std::abs(values[i]))) return false;
    }
    return values.size() == other.values.size();
  }
};

struct Outcome {
  Sums energy, difference;
  std::vector<float> gradient;
  bool operator==(const Outcome&) const = default;
};

// A ring with a chord at every site.
struct Ring {
  Ring(int64_t sites, int categories, Inputs& inputs)
      : unary(inputs.reals<double>(sites * categories, 1)) {
    offset.push_back(0);
    for (int64_t i = 0; sites > 2 && i < sites; ++i) {
      neighbour.push_back(static_cast<int32_t>((i + 1) % sites));
      neighbour.push_back(static_cast<int32_t>((i + sites - 1) % sites));
      coupling.push_back(0.3 + 0.01 * static_cast<double>(i));
      coupling.push_back(0.3 + 0.01 * static_cast<double>((i + sites - 1) % sites));
      offset.push_back(static_cast<int64_t>(neighbour.size()));
    }
    offset.resize(sites + 1, static_cast<int64_t>(neighbour.size()));
  }
  std::vector<double> unary, coupling;
  std::vector<int64_t> offset;
  std::vector<int32_t> neighbour;
};

Outcome run(const Size& size, int categories, bool one_hot, Twin twin) {
  Inputs inputs(10);
  const bool cpu = twin == Twin::kCpu;
  const Ring ring(size.sites, categories, inputs);
  const Lattice lattice{size.sites,
                        categories,
                        ring.unary.data(),
                        ring.offset.data(),
                        ring.neighbour.data(),
                        ring.coupling.data(),
                        0.25};
  const auto x = inputs.states(size.chains * size.sites, categories);
  std::vector<int64_t> site = inputs.ids(size.chains);
  for (int64_t& s : site) s %= size.sites;
  Outcome o{{std::vector<double>(size.chains)},
            {std::vector<double>(size.chains * categories)},
            std::vector<float>(size.chains * size.sites * (one_hot ? categories : 1))};
  (cpu ? cpu::lattice_evaluate : cuda::lattice_evaluate)(
      lattice, size.chains, x.data(), one_hot, o.energy.values.data(), o.gradient.data(), nullptr);
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
