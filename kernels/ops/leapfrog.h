// Tensors of leapfrog.h. Positions x float32 [B, D]; momenta float64 [B, D]; energies and pulls
// float64 [B]; leaders int64 [B / group].
#pragma once

#include "io/torch.h"

namespace isinglass::ops {

using torch::Tensor;

struct Particles {
  int64_t group = 1;
  double mass = 1;
};

// leader and pull are undefined where nothing pulls.
struct Forces {
  Tensor x, gradient, leader, pull;
};

// kept is undefined where momenta are not kept.
void refresh_momentum(const Particles& particles, const Tensor& rng, const Tensor& chain_ids,
                      double damping, Tensor& kept, Tensor& momentum);
void choose_leaders(const Particles& particles, const Tensor& energy, double strength,
                    Tensor& leader, Tensor& pull);
// step_size float64 [1] or [B, 1]; `to` may be forces.x.
void kick_and_drift(const Particles& particles, const Forces& forces, const Tensor& step_size,
                    double kick, double drift, Tensor& momentum, Tensor& to);
// out float64 [B]; forces.gradient is not read.
void log_momentum(const Particles& particles, const Forces& forces, const Tensor& momentum,
                  Tensor& out);

}  // namespace isinglass::ops
