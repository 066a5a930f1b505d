// kernels/hamiltonian/leapfrog.cu against its CPU twin.
#include "kernels/hamiltonian/leapfrog.h"

#include "tests/simt/ring.h"

namespace isinglass {
namespace {

// Log densities are sums over sites, which are equal up to rounding.
struct Outcome {
  std::vector<double> kept, momentum;
  std::vector<float> y;
  Sums before, after;
  bool operator==(const Outcome&) const = default;
};

// elastic: the log densities include the elastic energy if the particles are pulled. summed: log
// densities are computed.
Outcome run(const ParticleShape& shape, bool pulled, bool elastic, bool summed, Twin twin) {
  Inputs inputs(14);
  const bool cpu = twin == Twin::kCpu;
  const int64_t n = shape.chains * shape.sites;
  const int64_t rng[] = {99, 4};
  const double step_size = 0.3;
  const auto energy = inputs.reals<double>(shape.chains, 2);
  const auto x = inputs.reals<float>(n, 1), gradient = inputs.reals<float>(n, 1);
  const auto ids = inputs.ids(shape.chains);
  Outcome o{inputs.reals<double>(n, 1),
            std::vector<double>(n),
            x,
            {std::vector<double>(shape.chains)},
            {std::vector<double>(shape.chains)}};
  (cpu ? cpu::refresh_momentum : cuda::refresh_momentum)(
      shape, rng, ids.data(), 0.7, pulled ? o.kept.data() : nullptr, o.momentum.data(), nullptr);
  const ForceField field{o.y.data(), gradient.data(), pulled ? energy.data() : nullptr, 2.0};
  const LogMomenta log{summed ? o.before.values.data() : nullptr,
                       summed ? o.after.values.data() : nullptr, elastic};
  (cpu ? cpu::kick_and_drift : cuda::kick_and_drift)(shape, field, &step_size, {0.5, 1},
                                                     o.momentum.data(), o.y.data(), log, nullptr);
  return o;
}

TEST(LeapfrogTwins, MoveAlike) {
  for (const Size& size : {Size{1, 1}, Size{6, 7}, Size{4, 33}, Size{2, 161}}) {
    for (const int64_t group : {int64_t{1}, int64_t{2}, size.chains}) {
      if (size.chains % group != 0) continue;
      for (const bool pulled : {false, true}) {
        for (const bool summed : {false, true}) {
          const ParticleShape shape{size.chains, size.sites, group, 0.4};
          expect_twins([&](Twin twin) { return run(shape, pulled, pulled, summed, twin); });
        }
      }
    }
  }
  expect_twins([&](Twin twin) { return run({4, 33, 4, 0.4}, true, false, true, twin); });
}

// The group has more particles than share their pulls at once.
TEST(LeapfrogTwins, ManyParticlesFollowALeader) {
  const ParticleShape shape{600, 3, 300, 1};
  expect_twins([&](Twin twin) { return run(shape, true, true, false, twin); });
}

}  // namespace
}  // namespace isinglass
