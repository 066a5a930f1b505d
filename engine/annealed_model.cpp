// See annealed_model.h.
#include "engine/annealed_model.h"

namespace isinglass {
namespace {

// Cache layout.
enum { kStart = 0, kTarget = 1, kTargetGradient = 2 };

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

void AnnealedModel::evaluate_parts(const torch::Tensor& x, Evaluation& out, bool gradient) {
  Evaluation start, target;
  if (!out.cache.empty()) {
    start.energy = out.cache[kStart];
    target.energy = out.cache[kTarget];
    if (gradient) target.gradient = out.cache[kTargetGradient];
  }
  start_.evaluate_energy(x, start);
  if (gradient) {
    target_.evaluate(x, target);
  } else {
    target_.evaluate_energy(x, target);
  }
  out.cache = {start.energy, target.energy};
  if (gradient) out.cache.push_back(target.gradient);
  combine(out);
}

void AnnealedModel::combine(Evaluation& out) const {
  if (!out.energy.defined()) out.energy = torch::empty_like(out.cache[kTarget]);
  at::lerp_out(out.energy, out.cache[kStart], out.cache[kTarget], beta_);
  if (out.cache.size() > kTargetGradient) {
    const torch::Tensor& gradient = out.cache[kTargetGradient];
    if (!out.gradient.defined()) out.gradient = torch::empty_like(gradient);
    at::lerp_out(out.gradient, start_gradient_.expand_as(gradient), gradient, beta32_);
  }
}

void AnnealedModel::evaluate_energy(const torch::Tensor& x, Evaluation& out) {
  evaluate_parts(x, out, false);
}

void AnnealedModel::evaluate(const torch::Tensor& x, Evaluation& out) {
  evaluate_parts(x, out, true);
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
