// Hamiltonian trajectories of particles that follow a leader ("Follow Hamiltonian Leader",
// Algorithm 1, whose loop over particles would not be reversible): chains form groups of n, and in
// every kick all particles use forces of the same positions.
//
//   force    g_i = ∇U(x_i) + ρ_i (x_i − x_l),  l = argmin U over the group (ties: the first),
//            ρ_i = λ (π_l − π_i) / (π_l + π_i) = λ tanh((U_i − U_l)/2),  π = softmax(−U)
//   kick     p ← p − k η g
//   drift    x ← x + d η p/m
//   refresh  p ← γ p + √(1 − γ²) √m ξ,  ξ ~ N(0, I)
//
// A leapfrog step is kick ½, drift 1, kick ½; two kicks in a row with one force are one. The force
// is a function of positions alone: the map is reversible and keeps volume. Without a leader this
// is the leapfrog of Hamiltonian Monte Carlo. Positions are float32, momenta float64.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/base/chain_scale.h"
#include "kernels/base/host_device.h"
#include "kernels/random/normal.h"

namespace isinglass {

struct ParticleShape {
  int64_t chains, sites;
  int64_t group;  // n, which divides chains
  double mass;
};

// What forces are made of, at positions x.
struct ForceField {
  const float* x;         // [B, D]
  const float* gradient;  // [B, D] of U; null where only the elastic energy is asked for
  const int64_t* leader;  // [B / n]: l as a chain; null: no elastic force
  const double* pull;     // [B]: ρ; null with leader
};

// The multiples of η of a kick and of the drift that follows.
struct Leap {
  double kick, drift;
};

// Writes the leader of one group and the pull on its particles.
ISINGLASS_HD inline void choose_leader(const ParticleShape& shape, int64_t group_index,
                                       const double* energy, double strength, int64_t* leader,
                                       double* pull) {
  const int64_t first = group_index * shape.group;
  int64_t least = first;
  for (int64_t c = first + 1; c < first + shape.group; ++c) {
    if (energy[c] < energy[least]) least = c;
  }
  leader[group_index] = least;
  for (int64_t c = first; c < first + shape.group; ++c) {
    pull[c] = strength * tanh(0.5 * (energy[c] - energy[least]));
  }
}

// x_i − x_l at one site; 0 where nothing pulls.
ISINGLASS_HD inline double distance_to_leader(const ParticleShape& shape, const ForceField& field,
                                              int64_t c, int64_t i) {
  if (!field.leader || field.pull[c] == 0) return 0;
  const int64_t l = field.leader[c / shape.group];
  return static_cast<double>(field.x[c * shape.sites + i]) - field.x[l * shape.sites + i];
}

ISINGLASS_HD inline void kick_site(const ParticleShape& shape, const ForceField& field, double step,
                                   int64_t c, int64_t i, double* momentum) {
  const int64_t at = c * shape.sites + i;
  double force = field.gradient[at];
  const double distance = distance_to_leader(shape, field, c, i);
  if (distance != 0) force += field.pull[c] * distance;
  momentum[at] -= step * force;
}

ISINGLASS_HD inline float drifted_site(const ParticleShape& shape, const ForceField& field,
                                       double step, const double* momentum, int64_t at) {
  return static_cast<float>(field.x[at] + step * momentum[at] / shape.mass);
}

// The new momentum of site i; `kept`, if not null, holds the old one, NaN where there is none, and
// becomes minus the new one: the momentum of a particle whose trajectory is refused.
ISINGLASS_HD inline double refreshed_momentum(const ParticleShape& shape, const Draws& draws,
                                              double damping, int64_t c, int64_t i, double* kept) {
  const double noise = standard_normal(draws, Purpose::kNoise, static_cast<uint32_t>(i));
  if (!kept) return sqrt(shape.mass) * noise;
  double& old = kept[c * shape.sites + i];
  const double momentum = std::isnan(old)
                              ? sqrt(shape.mass) * noise
                              : sqrt((1 - damping * damping) * shape.mass) * noise + damping * old;
  old = -momentum;
  return momentum;
}

// Site i's share of −½‖p‖²/m − ½ ρ ‖x − x_l‖².
ISINGLASS_HD inline double log_momentum_share(const ParticleShape& shape, const ForceField& field,
                                              const double* momentum, int64_t c, int64_t i) {
  const double p = momentum[c * shape.sites + i];
  const double distance = distance_to_leader(shape, field, c, i);
  const double elastic = distance != 0 ? field.pull[c] * distance * distance : 0.0;
  return -0.5 * (p * p / shape.mass + elastic);
}

// rng {seed, step}, chain_ids [B]; kept [B, D] or null; momentum [B, D].
ISINGLASS_TWINS(refresh_momentum, const ParticleShape&, const int64_t* rng,
                const int64_t* chain_ids, double damping, double* kept, double* momentum, Stream)
// energy [B]; strength λ; leader [B / n], pull [B].
ISINGLASS_TWINS(choose_leaders, const ParticleShape&, const double* energy, double strength,
                int64_t* leader, double* pull, Stream)
// step_size: η, of a group its first chain's; to [B, D], which may be field.x.
ISINGLASS_TWINS(kick_and_drift, const ParticleShape&, const ForceField&, ChainScale step_size, Leap,
                double* momentum, float* to, Stream)
// out [B]: −½‖p‖²/m, and with a leader − ½ ρ ‖x − x_l‖².
ISINGLASS_TWINS(log_momentum, const ParticleShape&, const ForceField&, const double* momentum,
                double* out, Stream)

}  // namespace isinglass
