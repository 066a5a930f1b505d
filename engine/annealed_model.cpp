// See annealed_model.h.
#include "engine/annealed_model.h"

namespace isinglass {
namespace {

// Cache layout: the energies; with gradients the target's, with differences those of both.
enum { kStart = 0, kTarget = 1, kTargetTable = 2, kStartTable = 3 };

// The cached tensor, undefined where there is none yet.
torch::Tensor cached(const Evaluation& out, size_t part) {
  return part < out.cache.size() ? out.cache[part] : torch::Tensor();
}

// An evaluation that writes into the cached energy.
Evaluation part_of(const Evaluation& out, size_t energy) {
  Evaluation part;
  part.energy = cached(out, energy);
  return part;
}

// out = from + β (to − from)
void interpolate(torch::Tensor& out, const torch::Tensor& from, const torch::Tensor& to,
                 const torch::Tensor& beta) {
  if (!out.defined()) out = torch::empty_like(to);
  at::lerp_out(out, from, to, beta);
}

}  // namespace

AnnealedModel::AnnealedModel(EnergyModel& target, const Factorised& start, torch::Device device)
    : target_(target),
      start_(start.model()),
      beta_(torch::zeros({}, torch::TensorOptions(torch::kFloat64).device(device))),
      beta32_(beta_.to(torch::kFloat32)) {
  if (target_.differentiable()) {
    const auto any =
        torch::zeros({1, space().sites}, torch::TensorOptions(torch::kUInt8).device(device));
    start_gradient_ = start_.energy_and_grad(any).gradient[0];
  }
}

torch::Tensor AnnealedModel::energy(const torch::Tensor& x) {
  return torch::lerp(start_.energy(x).to(torch::kFloat64), target_.energy(x).to(torch::kFloat64),
                     beta_);
}

void AnnealedModel::combine(Evaluation& out) const {
  interpolate(out.energy, out.cache[kStart], out.cache[kTarget], beta_);
  const torch::Tensor table = cached(out, kTargetTable), start = cached(out, kStartTable);
  if (start.defined()) {
    interpolate(out.differences, start, table, beta32_);
  } else if (table.defined()) {
    interpolate(out.gradient, start_gradient_.expand_as(table), table, beta32_);
  }
}

void AnnealedModel::evaluate_energy(const torch::Tensor& x, Evaluation& out) {
  Evaluation start = part_of(out, kStart), target = part_of(out, kTarget);
  start_.evaluate_energy(x, start);
  target_.evaluate_energy(x, target);
  out.cache = {start.energy, target.energy};
  combine(out);
}

void AnnealedModel::evaluate(const torch::Tensor& x, Evaluation& out) {
  Evaluation start = part_of(out, kStart), target = part_of(out, kTarget);
  target.gradient = cached(out, kTargetTable);
  start_.evaluate_energy(x, start);
  target_.evaluate(x, target);
  out.cache = {start.energy, target.energy, target.gradient};
  combine(out);
}

void AnnealedModel::evaluate_differences(const torch::Tensor& x, Evaluation& out) {
  Evaluation start = part_of(out, kStart), target = part_of(out, kTarget);
  start.differences = cached(out, kStartTable);
  target.differences = cached(out, kTargetTable);
  isinglass::evaluate_differences(start_, x, start);
  difference_calls_ = isinglass::evaluate_differences(target_, x, target);
  out.cache = {start.energy, target.energy, target.differences, start.differences};
  combine(out);
}

void AnnealedModel::set_beta(double beta, Evaluation& current) {
  beta_.fill_(beta);
  beta32_.fill_(beta);
  combine(current);
}

torch::Tensor AnnealedModel::slope(const Evaluation& current) {
  return current.cache[kStart] - current.cache[kTarget];
}

}  // namespace isinglass
