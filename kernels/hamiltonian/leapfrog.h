// Integrates Hamiltonian trajectories of particles that follow a leader ("Follow Hamiltonian
// Leader", Algorithm 1, whose loop over particles would not be reversible). Chains form groups of
// n, and in every kick all particles use forces of the same positions.
//
//   force    g_i = ∇U(x_i) + ρ_i (x_i − x_l),  l = argmin U over the group (ties: the first),
//            ρ_i = λ (π_l − π_i) / (π_l + π_i) = λ tanh((U_i − U_l)/2),  π = softmax(−U)
//   kick     p ← p − k η g
//   drift    x ← x + d η p/m
//   refresh  p ← γ p + √(1 − γ²) √m ξ,  ξ ~ N(0, I)
//
// A leapfrog step is kick ½, drift 1, kick ½; two successive kicks with the same force are
// combined. The force is a function of the positions alone, so that the map is reversible and
// preserves volume. Without a leader this is the leapfrog of Hamiltonian Monte Carlo. Positions are
// float32, momenta float64.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/base/chain_scale.h"
#include "kernels/base/host_device.h"
#include "kernels/random/normal.h"

namespace isinglass {

struct ParticleShape {
  int64_t chains, sites;
  int64_t group;  // n. It divides `chains`.
  double mass;
};

// Holds what the forces at positions x are computed from.
struct ForceField {
  const float* x;                  // [B, D]
  const float* gradient;           // [B, D]: ∇U(x)
  const double* energy = nullptr;  // [B]: U(x). Null means that there is no elastic force.
  double strength = 0;             // λ
};

// Holds the multiples of η of a kick and of the drift that follows it.
struct Leap {
  double kick, drift;
};

// Says where to write log densities [B] of the momenta before and after a kick, at positions x;
// null if they are not wanted.
struct LogMomenta {
  double* before = nullptr;
  double* after = nullptr;
  bool elastic = false;  // If true, the densities include −½ ρ ‖x − x_l‖².
};

// Returns the leader l of the group that begins with the chain `first`.
ISINGLASS_HD inline int64_t leader_of(const ParticleShape& shape, const ForceField& field,
                                      int64_t first) {
  if (!field.energy) return first;
  int64_t least = first;
  for (int64_t c = first + 1; c < first + shape.group; ++c) {
    if (field.energy[c] < field.energy[least]) least = c;
  }
  return least;
}

// Holds a particle's chain c, its ρ and the leader's chain.
struct Pulled {
  int64_t chain;
  double pull;
  int64_t leader;

  ISINGLASS_HD Pulled(const ForceField& field, int64_t c, int64_t l)
      : chain(c),
        pull(field.energy ? field.strength * tanh(0.5 * (field.energy[c] - field.energy[l])) : 0.0),
        leader(l) {}
  ISINGLASS_HD Pulled(int64_t c, double rho, int64_t l) : chain(c), pull(rho), leader(l) {}
};

// Returns x_i − x_l at one site, or 0 if nothing pulls the particle.
ISINGLASS_HD inline double distance_to_leader(const ParticleShape& shape, const ForceField& field,
                                              const Pulled& particle, int64_t i) {
  if (particle.pull == 0) return 0;
  return static_cast<double>(field.x[particle.chain * shape.sites + i]) -
         field.x[particle.leader * shape.sites + i];
}

ISINGLASS_HD inline void kick_site(const ParticleShape& shape, const ForceField& field, double step,
                                   const Pulled& particle, int64_t i, double* momentum) {
  const int64_t at = particle.chain * shape.sites + i;
  double force = field.gradient[at];
  const double distance = distance_to_leader(shape, field, particle, i);
  if (distance != 0) force += particle.pull * distance;
  momentum[at] -= step * force;
}

ISINGLASS_HD inline float drifted_site(const ParticleShape& shape, const ForceField& field,
                                       double step, const double* momentum, int64_t at) {
  return static_cast<float>(field.x[at] + step * momentum[at] / shape.mass);
}

// Returns the new momentum of site i from a normal number. `kept`, if not null, holds the old
// momentum, or NaN if there is none. It is set to minus the new momentum, which is the momentum of
// a particle whose trajectory is rejected.
ISINGLASS_HD inline double refreshed_momentum(const ParticleShape& shape, double noise,
                                              double damping, int64_t c, int64_t i, double* kept) {
  if (!kept) return sqrt(shape.mass) * noise;
  double& old = kept[c * shape.sites + i];
  const double momentum = std::isnan(old)
                              ? sqrt(shape.mass) * noise
                              : sqrt((1 - damping * damping) * shape.mass) * noise + damping * old;
  old = -momentum;
  return momentum;
}

// Returns site i's share of −½‖p‖²/m, and if `elastic`, of −½ ρ ‖x − x_l‖² as well.
ISINGLASS_HD inline double log_momentum_share(const ParticleShape& shape, const ForceField& field,
                                              bool elastic, const Pulled& particle,
                                              const double* momentum, int64_t i) {
  const double p = momentum[particle.chain * shape.sites + i];
  const double distance = elastic ? distance_to_leader(shape, field, particle, i) : 0.0;
  const double stretched = distance != 0 ? particle.pull * distance * distance : 0.0;
  return -0.5 * (p * p / shape.mass + stretched);
}

// Draws new momenta; rng {seed, step}, chain_ids [B]; kept [B, D] or null; momentum [B, D].
ISINGLASS_TWINS(refresh_momentum, const ParticleShape&, const int64_t* rng,
                const int64_t* chain_ids, double damping, double* kept, double* momentum, Stream)
// Kicks the momenta and moves the positions. step_size is η; a group uses that of its first chain.
// to [B, D] may be field.x.
ISINGLASS_TWINS(kick_and_drift, const ParticleShape&, const ForceField&, ChainScale step_size, Leap,
                double* momentum, float* to, const LogMomenta&, Stream)

}  // namespace isinglass
