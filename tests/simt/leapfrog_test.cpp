// kernels/hamiltonian/leapfrog.cu against its CPU twin.
#include "kernels/hamiltonian/leapfrog.h"

#include "tests/simt/ring.h"

namespace isinglass {
namespace {

// Log densities are summed over sites: to rounding.
struct Outcome {
  std::vector<double> kept, momentum, pull;
  std::vector<int64_t> leader;
  std::vector<float> y;
  Sums log_momentum;
  bool operator==(const Outcome&) const = default;
};

Outcome run(const ParticleShape& shape, bool pulled, bool kept, Twin twin) {
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
            std::vector<double>(shape.chains),
            std::vector<int64_t>(shape.chains / shape.group),
            x,
            {std::vector<double>(shape.chains)}};
  (cpu ? cpu::refresh_momentum : cuda::refresh_momentum)(
      shape, rng, ids.data(), 0.7, kept ? o.kept.data() : nullptr, o.momentum.data(), nullptr);
  (cpu ? cpu::choose_leaders : cuda::choose_leaders)(shape, energy.data(), 2.0, o.leader.data(),
                                                     o.pull.data(), nullptr);
  const ForceField field{o.y.data(), gradient.data(), pulled ? o.leader.data() : nullptr,
                         pulled ? o.pull.data() : nullptr};
  (cpu ? cpu::kick_and_drift : cuda::kick_and_drift)(shape, field, &step_size, {0.5, 1},
                                                     o.momentum.data(), o.y.data(), nullptr);
  (cpu ? cpu::log_momentum : cuda::log_momentum)(shape, field, o.momentum.data(),
                                                 o.log_momentum.values.data(), nullptr);
  return o;
}

TEST(LeapfrogTwins, MoveAlike) {
  for (const Size& size : {Size{1, 1}, Size{6, 7}, Size{4, 33}, Size{2, 161}}) {
    for (const int64_t group : {int64_t{1}, int64_t{2}, size.chains}) {
      if (size.chains % group != 0) continue;
      for (const bool pulled : {false, true}) {
        expect_twins([&](Twin twin) {
          return run({size.chains, size.sites, group, 0.4}, pulled, pulled, twin);
        });
      }
    }
  }
}

// More groups than a block has threads.
TEST(LeapfrogTwins, ChooseLeadersAlike) {
  const ParticleShape shape{300, 1, 2, 1};
  expect_twins([&](Twin twin) {
    const auto energy = Inputs(15).reals<double>(shape.chains, 2);
    std::vector<int64_t> leader(150);
    std::vector<double> pull(300);
    (twin == Twin::kCpu ? cpu::choose_leaders : cuda::choose_leaders)(
        shape, energy.data(), 2.0, leader.data(), pull.data(), nullptr);
    return std::pair(leader, pull);
  });
}

}  // namespace
}  // namespace isinglass
