// kernels/accept/metropolis.cu against metropolis_cpu.cpp: verdicts, rows taken over and counts.
#include "kernels/accept/metropolis.h"

#include "tests/simt/twins.h"

namespace isinglass {
namespace {

struct Outcome {
  std::vector<uint8_t> x;
  std::vector<double> energy, acceptance, acceptance_sum;
  std::vector<float> gradient;
  std::vector<int64_t> hops, hops_sum, non_finite;
  bool operator==(const Outcome&) const = default;
};

Outcome run(const Size& size, bool symmetric, bool unadjusted, int64_t group, Twin twin) {
  Inputs inputs(6);
  const int64_t b = size.chains, n = b * size.sites;
  const bool cpu = twin == Twin::kCpu;
  const auto y = inputs.states(n, 3);
  auto proposed = inputs.reals<double>(b, 1);
  if (b > 1) proposed[1] = INFINITY;
  const auto gradient = inputs.reals<float>(n, 1);
  const auto forward = inputs.reals<double>(b, 0.5), backward = inputs.reals<double>(b, 0.5);
  const auto ids = inputs.ids(b);
  Outcome o{inputs.states(n, 3),         inputs.reals<double>(b, 1), std::vector<double>(b),
            std::vector<double>(b, 0.5), inputs.reals<float>(n, 1),  std::vector<int64_t>(b),
            std::vector<int64_t>(b, 3),  std::vector<int64_t>(b)};
  const int64_t rng[] = {21, 8};
  const AcceptedBuffers buffers{{{o.x.data(), y.data(), size.sites},
                                 {o.energy.data(), proposed.data(), 8},
                                 {o.gradient.data(), gradient.data(), 4 * size.sites}},
                                3};
  const ProposalScores scores{o.energy.data(),
                              proposed.data(),
                              symmetric ? nullptr : forward.data(),
                              symmetric ? nullptr : backward.data(),
                              unadjusted,
                              group};
  const StepCounts counts{o.acceptance.data(), o.hops.data(), o.acceptance_sum.data(),
                          o.hops_sum.data(), o.non_finite.data()};
  (cpu ? cpu::accept : cuda::accept)(b, {o.x.data(), y.data(), size.sites, 1}, scores, rng,
                                     ids.data(), buffers, counts, nullptr);
  return o;
}

TEST(MetropolisTwins, AcceptAlike) {
  for (const Size& size :
       {Size{1, 1}, Size{5, 7}, Size{9, 33}, Size{4, 128}, Size{3, 785}, Size{2, 16400}}) {
    for (const bool symmetric : {false, true}) {
      for (const bool unadjusted : {false, true}) {
        for (const int64_t group : {int64_t{1}, int64_t{2}, int64_t{3}, size.chains}) {
          if (size.chains % group != 0) continue;
          expect_twins([&](Twin twin) { return run(size, symmetric, unadjusted, group, twin); });
        }
      }
    }
  }
}

TEST(MetropolisTwins, AdvanceAlike) {
  expect_twins([](Twin twin) {
    std::vector<int64_t> rng = {21, 8};
    (twin == Twin::kCpu ? cpu::advance : cuda::advance)(rng.data(), 1, nullptr);
    return rng;
  });
}

}  // namespace
}  // namespace isinglass
