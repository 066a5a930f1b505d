// CPU twin of leapfrog.h.
#include "kernels/hamiltonian/leapfrog.h"

namespace isinglass::cpu {

void refresh_momentum(const ParticleShape& shape, const int64_t* rng, const int64_t* chain_ids,
                      double damping, double* kept, double* momentum, Stream) {
#pragma omp parallel for schedule(static) if (parallel_pays(shape.chains * shape.sites))
  for (int64_t c = 0; c < shape.chains; ++c) {
    const Draws draws = step_draws(rng, chain_ids[c]);
    for (int64_t i = 0; i < shape.sites; ++i) {
      momentum[c * shape.sites + i] = refreshed_momentum(shape, draws, damping, c, i, kept);
    }
  }
}

void choose_leaders(const ParticleShape& shape, const double* energy, double strength,
                    int64_t* leader, double* pull, Stream) {
  for (int64_t g = 0; g < shape.chains / shape.group; ++g) {
    choose_leader(shape, g, energy, strength, leader, pull);
  }
}

void kick_and_drift(const ParticleShape& shape, const ForceField& field, ChainScale step_size,
                    Leap leap, double* momentum, float* to, Stream) {
#pragma omp parallel for schedule(static) if (parallel_pays(shape.chains * shape.sites))
  for (int64_t g = 0; g < shape.chains / shape.group; ++g) {
    const int64_t first = g * shape.group, last = first + shape.group;
    const double kick = leap.kick * step_size[first], drift = leap.drift * step_size[first];
    for (int64_t c = first; c < last; ++c) {
      for (int64_t i = 0; i < shape.sites; ++i) kick_site(shape, field, kick, c, i, momentum);
    }
    for (int64_t at = first * shape.sites; at < last * shape.sites; ++at) {
      to[at] = drifted_site(shape, field, drift, momentum, at);
    }
  }
}

void log_momentum(const ParticleShape& shape, const ForceField& field, const double* momentum,
                  double* out, Stream) {
#pragma omp parallel for schedule(static) if (parallel_pays(shape.chains * shape.sites))
  for (int64_t c = 0; c < shape.chains; ++c) {
    double sum = 0;
    for (int64_t i = 0; i < shape.sites; ++i) {
      sum += log_momentum_share(shape, field, momentum, c, i);
    }
    out[c] = sum;
  }
}

}  // namespace isinglass::cpu
