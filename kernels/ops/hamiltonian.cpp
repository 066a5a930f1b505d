// Implements the tensor layer of Hamiltonian trajectories: it checks tensors, runs the kernels of
// leapfrog.h.
#include "kernels/ops/hamiltonian.h"

#include "kernels/hamiltonian/leapfrog.h"
#include "kernels/ops/check.h"

namespace isinglass::ops {
namespace {

ParticleShape particle_shape(const Particles& particles, const Tensor& momentum) {
  TORCH_CHECK(momentum.dim() == 2, "isinglass operator: momentum must be [B, D]");
  TORCH_CHECK(particles.group >= 1 && momentum.size(0) % particles.group == 0,
              "isinglass operator: the size of a group must divide the number of chains");
  check(momentum, momentum, torch::kFloat64, momentum.numel(), "momentum");
  return {momentum.size(0), momentum.size(1), particles.group, particles.mass};
}

ForceField force_field(const ParticleShape& shape, const Forces& forces, const Tensor& momentum) {
  check(forces.x, momentum, torch::kFloat32, momentum.numel(), "x");
  check(forces.gradient, momentum, torch::kFloat32, momentum.numel(), "gradient");
  if (forces.energy.defined()) {
    check(forces.energy, momentum, torch::kFloat64, shape.chains, "energy");
  }
  return {data<float>(forces.x), data<float>(forces.gradient), data<double>(forces.energy),
          forces.strength};
}

}  // namespace

void refresh_momentum(const Particles& particles, const Tensor& rng, const Tensor& chain_ids,
                      double damping, Tensor& kept, Tensor& momentum) {
  const ParticleShape shape = particle_shape(particles, momentum);
  check(rng, momentum, torch::kInt64, 2, "rng");
  check(chain_ids, momentum, torch::kInt64, shape.chains, "chain_ids");
  if (kept.defined()) check(kept, momentum, torch::kFloat64, momentum.numel(), "kept");
  run_twin(momentum, cpu::refresh_momentum, cuda::refresh_momentum, shape, data<int64_t>(rng),
           data<int64_t>(chain_ids), damping, data<double>(kept), data<double>(momentum));
}

void kick_and_drift(const Particles& particles, const Forces& forces, const Tensor& step_size,
                    double kick, double drift, Tensor& momentum, Tensor& to,
                    const LogMomentumTensors& log) {
  const ParticleShape shape = particle_shape(particles, momentum);
  const ForceField field = force_field(shape, forces, momentum);
  check(to, momentum, torch::kFloat32, momentum.numel(), "to");
  for (const Tensor& out : {log.before, log.after}) {
    if (out.defined()) check(out, momentum, torch::kFloat64, shape.chains, "log momentum");
  }
  run_twin(momentum, cpu::kick_and_drift, cuda::kick_and_drift, shape, field,
           chain_scale(step_size, momentum, shape.chains, 1, "step_size"), Leap{kick, drift},
           data<double>(momentum), data<float>(to),
           LogMomenta{data<double>(log.before), data<double>(log.after), log.elastic});
}

}  // namespace isinglass::ops
