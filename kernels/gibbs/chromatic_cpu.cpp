// Implements chromatic.h on the CPU. Within a colour the order of the sites makes no difference.
// Binary sites without tables take eight chains at a time in vector lanes; other sites take one
// chain at a time.
#include <algorithm>

#include "kernels/base/threads_cpu.h"
#include "kernels/gibbs/chromatic.h"
#include "kernels/gibbs/fast/chromatic_lanes_cpu.h"
#include "kernels/gibbs/fast/kept_fields_cpu.h"

namespace isinglass::cpu {
namespace {

// Performs the sweep of the step that is `steps_ahead` after the present one.
// sweep_group(group, chains, draws, beta, x) sweeps up to eight chains.
template <class SweepGroup>
void sweep_groups(const Lattice& lattice, int64_t chains, int64_t steps_ahead, const int64_t* rng,
                  const int64_t* chain_ids, const double* beta, uint8_t* x, double* energy,
                  const StepCounts& counts, const SweepGroup& sweep_group) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, chains * lattice.sites);
  reserve_lane_scratch(loop.on_all_threads(), lattice.sites);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t first = 0; first < chains; first += kChainLanes) {
    const int64_t count = std::min<int64_t>(kChainLanes, chains - first);
    PhiloxStream draws[kChainLanes];
    double of_lane[kChainLanes];
    for (int64_t l = 0; l < kChainLanes; ++l) {
      const int64_t c = first + std::min(l, count - 1);
      draws[l] = step_draws(rng, chain_ids[c], steps_ahead);
      of_lane[l] = beta ? beta[c] : 1;
    }
    const SweepCounts sweep =
        sweep_group(first / kChainLanes, count, draws, of_lane, x + first * lattice.sites);
    for (int64_t l = 0; l < count; ++l) {
      energy[first + l] += sweep.difference[l];
      count_draw(counts, first + l, static_cast<int64_t>(sweep.hops[l]), sweep.non_finite[l] == 0);
    }
  }
}

void sweep_binary(const Lattice& lattice, const Colouring& colouring, int64_t chains,
                  int64_t steps_ahead, const int64_t* rng, const int64_t* chain_ids,
                  const double* beta, uint8_t* x, double* energy, const StepCounts& counts) {
  sweep_groups(
      lattice, chains, steps_ahead, rng, chain_ids, beta, x, energy, counts,
      [&](int64_t, int64_t count, const PhiloxStream* draws, const double* of_lane, uint8_t* own) {
        return sweep_lanes(lattice, colouring, count, draws, of_lane, lane_scratch(lattice.sites),
                           own);
      });
}

void sweep_values(const Lattice& lattice, const Colouring& colouring, int64_t chains,
                  int64_t steps_ahead, const int64_t* rng, const int64_t* chain_ids,
                  const double* beta, uint8_t* x, double* energy, const StepCounts& counts) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, chains * lattice.sites);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t c = 0; c < chains; ++c) {
    const PhiloxStream draws = step_draws(rng, chain_ids[c], steps_ahead);
    double difference = 0;
    int64_t hops = 0;
    bool finite = true;
    const double own = beta ? beta[c] : 1;
    for (int64_t n = 0; n < lattice.sites; ++n) {
      const auto rank = static_cast<uint32_t>(n);
      const SiteDraw draw = draw_site<WrittenLocalEnergies>(
          lattice, colouring, own, n, draws.site_word(Purpose::kSiteValue, rank),
          [&] { return draws.site_word(Purpose::kSiteValueRest, rank); }, x + c * lattice.sites);
      difference += draw.difference;
      hops += draw.moved;
      finite = finite && draw.finite;
    }
    energy[c] += difference;
    count_draw(counts, c, hops, finite);
  }
}

}  // namespace

void chromatic_sweep(const Lattice& lattice, const Colouring& colouring, int64_t chains,
                     int64_t steps, const int64_t* rng, const int64_t* chain_ids,
                     const double* beta, uint8_t* x, double* energy, const StepCounts& counts,
                     double*, Stream) {
  const bool lanes = lattice.categories == 2 && !lattice.table;
  const auto sweep = lanes ? sweep_binary : sweep_values;
  for (int64_t t = 0; t < steps; ++t) {
    sweep(lattice, colouring, chains, t, rng, chain_ids, beta, x, energy, counts);
  }
}

void kept_sweep(const Lattice& lattice, const Colouring& colouring, int64_t chains, int64_t steps,
                const int64_t* rng, const int64_t* chain_ids, const double* beta,
                const KeptFields& kept, uint8_t* x, double* energy, const StepCounts& counts) {
  for (int64_t t = 0; t < steps; ++t) {
    sweep_groups(lattice, chains, t, rng, chain_ids, beta, x, energy, counts,
                 [&](int64_t group, int64_t count, const PhiloxStream* draws, const double* of_lane,
                     uint8_t* own) {
                   return sweep_kept_group(lattice, colouring, kept, group, count, draws, of_lane,
                                           own);
                 });
  }
}

}  // namespace isinglass::cpu
