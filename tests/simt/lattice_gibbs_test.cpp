// kernels/gibbs/lattice_gibbs.cu against its CPU twin, bit for bit, and both against steps that the
// kernels of one_site.h and lattice.h make one by one.
#include "kernels/gibbs/lattice_gibbs.h"

#include "kernels/accept/metropolis.h"
#include "kernels/gibbs/one_site.h"
#include "tests/simt/ring.h"

namespace isinglass {
namespace {

struct Outcome {
  std::vector<uint8_t> x;
  std::vector<double> energy, acceptance, acceptance_sum;
  std::vector<int64_t> hops, hops_sum, non_finite;
  bool operator==(const Outcome&) const = default;

  StepCounts counts() {
    return {acceptance.data(), hops.data(), acceptance_sum.data(), hops_sum.data(),
            non_finite.data()};
  }
};

struct Case {
  Size size;
  int categories;
  bool systematic, broken = false;  // a site's energy is not finite
  bool tables = false;
};

// Makes `launches` launches of `steps` each; with steps 0, one step at a time.
Outcome run(const Case& of, int64_t launches, int64_t steps, Twin twin) {
  Inputs inputs(16);
  const bool cpu = twin == Twin::kCpu;
  const int64_t b = of.size.chains, d = of.size.sites;
  Ring ring(d, of.categories, inputs);
  if (of.broken) ring.unary[0] = NAN;
  if (of.tables) ring.add_tables(of.categories, inputs);
  const Lattice lattice = ring.lattice(d, of.categories);
  const auto ids = inputs.ids(b);
  Outcome o{inputs.states(b * d, of.categories),
            inputs.reals<double>(b, 1),
            std::vector<double>(b),
            inputs.reals<double>(b, 1),
            std::vector<int64_t>(b),
            std::vector<int64_t>(b),
            std::vector<int64_t>(b)};
  int64_t rng[] = {99, 4};
  std::vector<int64_t> site(b), choice(b);
  std::vector<double> difference(b * of.categories);
  for (int64_t n = 0; n < launches; ++n) {
    if (steps > 0) {
      (cpu ? cpu::lattice_gibbs_steps : cuda::lattice_gibbs_steps)(
          lattice, b, steps, of.systematic, rng, ids.data(), o.x.data(), o.energy.data(),
          o.counts(), nullptr);
    } else {
      cpu::choose_sites(b, d, of.systematic, rng, ids.data(), site.data(), nullptr);
      cpu::lattice_differences(lattice, b, o.x.data(), site.data(), difference.data(), nullptr);
      cpu::draw_conditionals(b, d, of.categories, difference.data(), site.data(), rng, ids.data(),
                             o.x.data(), o.energy.data(), choice.data(), o.counts(), nullptr);
    }
    rng[1] += std::max<int64_t>(steps, 1);
  }
  return o;
}

TEST(LatticeGibbsTwins, StepAlike) {
  for (const Size& size : {Size{1, 1}, Size{3, 7}, Size{70, 33}}) {
    for (const int categories : {2, 5}) {
      for (const auto& [systematic, tables] :
           {std::pair{false, false}, {true, false}, {false, true}}) {
        const Case of{size, categories, systematic, false, tables};
        const Outcome apart = run(of, 12, 0, Twin::kCpu);
        EXPECT_TRUE(run(of, 12, 1, Twin::kCpu) == apart);
        EXPECT_TRUE(run(of, 1, 12, Twin::kCpu) == apart);
        expect_twins([&](Twin twin) { return run(of, 3, 4, twin); });
        EXPECT_TRUE(size.chains == 1 || apart.x != run(of, 0, 1, Twin::kCpu).x);
      }
    }
  }
}

TEST(LatticeGibbsTwins, CountsEnergiesThatAreNotFinite) {
  const Case of{{3, 7}, 2, true, true};
  const Outcome apart = run(of, 7, 0, Twin::kCpu);
  EXPECT_EQ(apart.non_finite[0], 1);
  for (const Twin twin : {Twin::kCpu, Twin::kCuda}) {
    const Outcome together = run(of, 1, 7, twin);
    EXPECT_EQ(together.x, apart.x);
    EXPECT_EQ(together.non_finite, apart.non_finite);
  }
}

}  // namespace
}  // namespace isinglass
