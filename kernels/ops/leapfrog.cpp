// See leapfrog.h.
#include "kernels/ops/leapfrog.h"

#include "kernels/hamiltonian/leapfrog.h"
#include "kernels/ops/chain_scale.h"

namespace isinglass::ops {
namespace {

ParticleShape particle_shape(const Particles& particles, const Tensor& momentum) {
  TORCH_CHECK(momentum.dim() == 2, "isinglass operator: momentum must be [B, D]");
  TORCH_CHECK(particles.group >= 1 && momentum.size(0) % particles.group == 0,
              "isinglass operator: a group must divide the chains");
  check(momentum, momentum, torch::kFloat64, momentum.numel(), "momentum");
  return {momentum.size(0), momentum.size(1), particles.group, particles.mass};
}

ForceField force_field(const ParticleShape& shape, const Forces& forces, const Tensor& momentum) {
  check(forces.x, momentum, torch::kFloat32, momentum.numel(), "x");
  TORCH_CHECK(forces.leader.defined() == forces.pull.defined(),
              "isinglass operator: leader and pull go together");
  if (forces.leader.defined()) {
    check(forces.leader, momentum, torch::kInt64, shape.chains / shape.group, "leader");
    check(forces.pull, momentum, torch::kFloat64, shape.chains, "pull");
  }
  return {data<float>(forces.x), data<float>(forces.gradient), data<int64_t>(forces.leader),
          data<double>(forces.pull)};
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

void choose_leaders(const Particles& particles, const Tensor& energy, double strength,
                    Tensor& leader, Tensor& pull) {
  const int64_t chains = energy.numel();
  TORCH_CHECK(particles.group >= 1 && chains % particles.group == 0,
              "isinglass operator: a group must divide the chains");
  check(energy, energy, torch::kFloat64, chains, "energy");
  check(leader, energy, torch::kInt64, chains / particles.group, "leader");
  check(pull, energy, torch::kFloat64, chains, "pull");
  const ParticleShape shape{chains, 1, particles.group, particles.mass};
  run_twin(energy, cpu::choose_leaders, cuda::choose_leaders, shape, data<double>(energy), strength,
           data<int64_t>(leader), data<double>(pull));
}

void kick_and_drift(const Particles& particles, const Forces& forces, const Tensor& step_size,
                    double kick, double drift, Tensor& momentum, Tensor& to) {
  const ParticleShape shape = particle_shape(particles, momentum);
  const ForceField field = force_field(shape, forces, momentum);
  check(forces.gradient, momentum, torch::kFloat32, momentum.numel(), "gradient");
  check(to, momentum, torch::kFloat32, momentum.numel(), "to");
  run_twin(momentum, cpu::kick_and_drift, cuda::kick_and_drift, shape, field,
           chain_scale(step_size, momentum, shape.chains, 1, "step_size"), Leap{kick, drift},
           data<double>(momentum), data<float>(to));
}

void log_momentum(const Particles& particles, const Forces& forces, const Tensor& momentum,
                  Tensor& out) {
  const ParticleShape shape = particle_shape(particles, momentum);
  const ForceField field = force_field(shape, forces, momentum);
  check(out, momentum, torch::kFloat64, shape.chains, "out");
  run_twin(momentum, cpu::log_momentum, cuda::log_momentum, shape, field, data<double>(momentum),
           data<double>(out));
}

namespace {

// The operators' schemas hold plain tensors and numbers; these adapters group them.

using Optional = std::optional<Tensor>;

void refresh_momentum_op(int64_t group, double mass, const Tensor& rng, const Tensor& chain_ids,
                         double damping, Optional kept, Tensor momentum) {
  Tensor old = kept.value_or(Tensor());
  refresh_momentum({group, mass}, rng, chain_ids, damping, old, momentum);
}

void choose_leaders_op(int64_t group, const Tensor& energy, double strength, Tensor leader,
                       Tensor pull) {
  choose_leaders({group, 1}, energy, strength, leader, pull);
}

void kick_and_drift_op(int64_t group, double mass, const Tensor& x, const Tensor& gradient,
                       const Optional& leader, const Optional& pull, const Tensor& step_size,
                       double kick, double drift, Tensor momentum, Tensor to) {
  kick_and_drift({group, mass}, {x, gradient, leader.value_or(Tensor()), pull.value_or(Tensor())},
                 step_size, kick, drift, momentum, to);
}

void log_momentum_op(int64_t group, double mass, const Tensor& x, const Optional& leader,
                     const Optional& pull, const Tensor& momentum, Tensor out) {
  log_momentum({group, mass}, {x, {}, leader.value_or(Tensor()), pull.value_or(Tensor())}, momentum,
               out);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(isinglass, m) {
  m.def(
      "refresh_momentum(int group, float mass, Tensor rng, Tensor chain_ids, float damping, "
      "Tensor(a!)? kept, Tensor(b!) momentum) -> ()",
      on_all_devices(refresh_momentum_op));
  m.def(
      "choose_leaders(int group, Tensor energy, float strength, Tensor(a!) leader, Tensor(b!) "
      "pull) -> ()",
      on_all_devices(choose_leaders_op));
  m.def(
      "kick_and_drift(int group, float mass, Tensor x, Tensor gradient, Tensor? leader, Tensor? "
      "pull, Tensor step_size, float kick, float drift, Tensor(a!) momentum, Tensor(b!) to) -> ()",
      on_all_devices(kick_and_drift_op));
  m.def(
      "log_momentum(int group, float mass, Tensor x, Tensor? leader, Tensor? pull, Tensor "
      "momentum, Tensor(a!) out) -> ()",
      on_all_devices(log_momentum_op));
}

}  // namespace isinglass::ops
