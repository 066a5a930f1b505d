// Runs the parts of Hamiltonian trajectories (kernels/hamiltonian/leapfrog.h) on tensors: positions
// x float32 [B, D], momenta float64 [B, D], energies float64 [B].
#pragma once

#include "io/torch.h"

namespace isinglass::ops {

using torch::Tensor;

struct Particles {
  int64_t group = 1;
  double mass = 1;
};

// Holds what forces are computed from. energy is undefined if there is no elastic force.
struct Forces {
  Tensor x, gradient, energy;
  double strength = 0;
};

// Holds the log densities of momenta before and after a kick, float64 [B]; undefined if they are
// not wanted.
struct LogMomentumTensors {
  Tensor before, after;
  bool elastic = false;
};

// Draws new momenta as in leapfrog.h. kept is undefined if momenta are not kept.
void refresh_momentum(const Particles& particles, const Tensor& rng, const Tensor& chain_ids,
                      double damping, Tensor& kept, Tensor& momentum);
// Kicks the momenta and moves the positions. step_size float64 [1] or [B, 1]; `to` may be forces.x.
void kick_and_drift(const Particles& particles, const Forces& forces, const Tensor& step_size,
                    double kick, double drift, Tensor& momentum, Tensor& to,
                    const LogMomentumTensors& log = {});

}  // namespace isinglass::ops
