// See annealed_model.h.
#include "engine/annealing/annealed_model.h"

namespace isinglass {
namespace {

// Cache layout: the energies; with gradients the target's, with differences those of both; the
// target's own cache.
enum { kStart = 0, kTarget = 1, kTargetTable = 2, kStartTable = 3 };

// Where the latter begins.
enum Parts : size_t { kEnergies = 2, kGradient = 3, kDifferences = 4 };

Parts parts_of(const Evaluation& known) {
  if (known.differences.defined()) return kDifferences;
  return known.gradient.defined() ? kGradient : kEnergies;
}

// The cached tensor, undefined where there is none yet.
torch::Tensor cached(const Evaluation& out, size_t part) {
  return part < out.cache.size() ? out.cache[part] : torch::Tensor();
}

// What is cached of the start; nothing where the evaluation has other parts, or none yet.
Evaluation start_of(const Evaluation& out, Parts parts) {
  Evaluation start;
  if (parts_of(out) != parts) return start;
  start.energy = cached(out, kStart);
  if (parts == kDifferences) start.differences = cached(out, kStartTable);
  return start;
}

// … and of the target.
Evaluation target_of(const Evaluation& out, Parts parts) {
  Evaluation target;
  if (parts_of(out) != parts) return target;
  target.energy = cached(out, kTarget);
  if (parts == kDifferences) target.differences = cached(out, kTargetTable);
  if (parts == kGradient) target.gradient = cached(out, kTargetTable);
  for (size_t i = parts; i < out.cache.size(); ++i) target.cache.push_back(out.cache[i]);
  return target;
}

// out becomes a tensor like the other, or undefined like it.
void make(torch::Tensor& out, const torch::Tensor& like) {
  if (out.defined() != like.defined()) out = like.defined() ? torch::empty_like(like) : like;
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

void AnnealedModel::recombine(Evaluation& out) const {
  at::lerp_out(out.energy, out.cache[kStart], out.cache[kTarget], beta_);
  const Parts parts = parts_of(out);
  if (parts == kEnergies) return;
  const torch::Tensor& table = out.cache[kTargetTable];
  if (parts == kDifferences) {
    at::lerp_out(out.differences, out.cache[kStartTable], table, beta32_);
  } else {
    at::lerp_out(out.gradient, start_gradient_.expand_as(table), table, beta32_);
  }
}

void AnnealedModel::combine(const Evaluation& start, const Evaluation& target,
                            Evaluation& out) const {
  const Parts parts = parts_of(target);
  out.cache = {start.energy, target.energy};
  if (parts != kEnergies) {
    out.cache.push_back(parts == kDifferences ? target.differences : target.gradient);
  }
  if (parts == kDifferences) out.cache.push_back(start.differences);
  make(out.energy, target.energy);
  make(out.gradient, target.gradient);
  make(out.differences, target.differences);
  out.cache.insert(out.cache.end(), target.cache.begin(), target.cache.end());
  recombine(out);
}

void AnnealedModel::evaluate_energy(const torch::Tensor& x, Evaluation& out) {
  Evaluation start = start_of(out, kEnergies), target = target_of(out, kEnergies);
  start_.evaluate_energy(x, start);
  target_.evaluate_energy(x, target);
  combine(start, target, out);
}

void AnnealedModel::evaluate(const torch::Tensor& x, Evaluation& out) {
  Evaluation start = start_of(out, kGradient), target = target_of(out, kGradient);
  start_.evaluate_energy(x, start);
  target_.evaluate(x, target);
  combine(start, target, out);
}

void AnnealedModel::evaluate_moved(const torch::Tensor& x, const Evaluation& at_x,
                                   const torch::Tensor& y, bool gradient, Evaluation& out) {
  const Parts parts = gradient ? kGradient : kEnergies;
  Evaluation start = start_of(out, parts), target = target_of(out, parts);
  start_.evaluate_energy(y, start);
  target_.evaluate_moved(x, target_of(at_x, parts_of(at_x)), y, gradient, target);
  combine(start, target, out);
}

void AnnealedModel::evaluate_differences(const torch::Tensor& x, Evaluation& out) {
  Evaluation start = start_of(out, kDifferences), target = target_of(out, kDifferences);
  isinglass::evaluate_differences(start_, x, start);
  difference_calls_ = isinglass::evaluate_differences(target_, x, target);
  combine(start, target, out);
}

void AnnealedModel::set_beta(double beta, Evaluation& current) {
  beta_.fill_(beta);
  beta32_.fill_(beta);
  recombine(current);
}

torch::Tensor AnnealedModel::slope(const Evaluation& current) {
  return current.cache[kStart] - current.cache[kTarget];
}

}  // namespace isinglass
