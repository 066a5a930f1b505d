// Tensors of leapfrog.h. Positions x float32 [B, D]; momenta float64 [B, D]; energies float64 [B].
#pragma once

#include "io/torch.h"

namespace isinglass::ops {

using torch::Tensor;

struct Particles {
  int64_t group = 1;
  double mass = 1;
};

// energy is undefined where nothing pulls.
struct Forces {
  Tensor x, gradient, energy;
  double strength = 0;
};

// Log densities of momenta before or after a kick, float64 [B]; undefined: not wanted.
struct LogMomentumTensors {
  Tensor before, after;
  bool elastic = false;
};

// kept is undefined where momenta are not kept.
void refresh_momentum(const Particles& particles, const Tensor& rng, const Tensor& chain_ids,
                      double damping, Tensor& kept, Tensor& momentum);
// step_size float64 [1] or [B, 1]; `to` may be forces.x.
void kick_and_drift(const Particles& particles, const Forces& forces, const Tensor& step_size,
                    double kick, double drift, Tensor& momentum, Tensor& to,
                    const LogMomentumTensors& log = {});

}  // namespace isinglass::ops
