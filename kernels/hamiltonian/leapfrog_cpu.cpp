// Implements leapfrog.h on the CPU.
#include "kernels/base/threads_cpu.h"
#include "kernels/hamiltonian/leapfrog.h"
#include "kernels/random/fast/normal_rows_cpu.h"

namespace isinglass::cpu {

void refresh_momentum(const ParticleShape& shape, const int64_t* rng, const int64_t* chain_ids,
                      double damping, double* kept, double* momentum, Stream) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, shape.chains * shape.sites);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t c = 0; c < shape.chains; ++c) {
    each_normal(
        step_draws(rng, chain_ids[c]), Purpose::kNoise, shape.sites, [&](int64_t i, double noise) {
          momentum[c * shape.sites + i] = refreshed_momentum(shape, noise, damping, c, i, kept);
        });
  }
}

void kick_and_drift(const ParticleShape& shape, const ForceField& field, ChainScale step_size,
                    Leap leap, double* momentum, float* to, const LogMomenta& log, Stream) {
  const auto log_momentum = [&](const Pulled& particle) {
    double sum = 0;
    for (int64_t i = 0; i < shape.sites; ++i) {
      sum += log_momentum_share(shape, field, log.elastic, particle, momentum, i);
    }
    return sum;
  };
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, shape.chains * shape.sites);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t g = 0; g < shape.chains / shape.group; ++g) {
    const int64_t first = g * shape.group, last = first + shape.group;
    const int64_t leader = leader_of(shape, field, first);
    const double kick = leap.kick * step_size[first], drift = leap.drift * step_size[first];
    for (int64_t c = first; c < last; ++c) {
      const Pulled particle(field, c, leader);
      if (log.before) log.before[c] = log_momentum(particle);
      for (int64_t i = 0; i < shape.sites; ++i) {
        kick_site(shape, field, kick, particle, i, momentum);
      }
      if (log.after) log.after[c] = log_momentum(particle);
    }
    for (int64_t at = first * shape.sites; at < last * shape.sites; ++at) {
      to[at] = drifted_site(shape, field, drift, momentum, at);
    }
  }
}

}  // namespace isinglass::cpu
