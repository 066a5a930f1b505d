// See annealed_model.h.
#include "engine/annealed_model.h"

namespace isinglass {
namespace {

// Cache layout: the energies; with gradients the target's, with differences those of both; the
// target's own cache.
enum { kStart = 0, kTarget = 1, kTargetTable = 2, kStartTable = 3 };

size_t count_parts(bool gradient, bool differences) {
  return differences ? 4 : gradient ? 3 : 2;
}

// The cached tensor, undefined where there is none yet.
torch::Tensor cached(const Evaluation& out, size_t part) {
  return part < out.cache.size() ? out.cache[part] : torch::Tensor();
}

// What is cached of the start: undefined where there is nothing yet.
Evaluation start_of(const Evaluation& out, size_t parts) {
  Evaluation start;
  start.energy = cached(out, kStart);
  if (parts > kStartTable) start.differences = cached(out, kStartTable);
  return start;
}

// … and of the target.
Evaluation target_of(const Evaluation& out, size_t parts) {
  Evaluation target;
  target.energy = cached(out, kTarget);
  if (parts > kTargetTable) {
    (parts > kStartTable ? target.differences : target.gradient) = cached(out, kTargetTable);
  }
  for (size_t i = parts; i < out.cache.size(); ++i) target.cache.push_back(out.cache[i]);
  return target;
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

void AnnealedModel::recombine(Evaluation& out) const {
  interpolate(out.energy, out.cache[kStart], out.cache[kTarget], beta_);
  if (out.differences.defined()) {
    interpolate(out.differences, out.cache[kStartTable], out.cache[kTargetTable], beta32_);
  } else if (out.gradient.defined()) {
    const torch::Tensor& table = out.cache[kTargetTable];
    interpolate(out.gradient, start_gradient_.expand_as(table), table, beta32_);
  }
}

void AnnealedModel::combine(const Evaluation& start, const Evaluation& target,
                            Evaluation& out) const {
  out.cache = {start.energy, target.energy};
  if (target.differences.defined()) {
    out.cache.insert(out.cache.end(), {target.differences, start.differences});
    if (!out.differences.defined()) out.differences = torch::empty_like(target.differences);
  } else if (target.gradient.defined()) {
    out.cache.push_back(target.gradient);
    if (!out.gradient.defined()) out.gradient = torch::empty_like(target.gradient);
  }
  out.cache.insert(out.cache.end(), target.cache.begin(), target.cache.end());
  recombine(out);
}

void AnnealedModel::evaluate_energy(const torch::Tensor& x, Evaluation& out) {
  const size_t parts = count_parts(false, false);
  Evaluation start = start_of(out, parts), target = target_of(out, parts);
  start_.evaluate_energy(x, start);
  target_.evaluate_energy(x, target);
  combine(start, target, out);
}

void AnnealedModel::evaluate(const torch::Tensor& x, Evaluation& out) {
  const size_t parts = count_parts(true, false);
  Evaluation start = start_of(out, parts), target = target_of(out, parts);
  start_.evaluate_energy(x, start);
  target_.evaluate(x, target);
  combine(start, target, out);
}

void AnnealedModel::evaluate_moved(const torch::Tensor& x, const Evaluation& at_x,
                                   const torch::Tensor& y, bool gradient, Evaluation& out) {
  const size_t parts = count_parts(gradient, false);
  const size_t parts_at_x = count_parts(at_x.gradient.defined(), at_x.differences.defined());
  Evaluation start = start_of(out, parts), target = target_of(out, parts);
  start_.evaluate_energy(y, start);
  target_.evaluate_moved(x, target_of(at_x, parts_at_x), y, gradient, target);
  combine(start, target, out);
}

void AnnealedModel::evaluate_differences(const torch::Tensor& x, Evaluation& out) {
  const size_t parts = count_parts(false, true);
  Evaluation start = start_of(out, parts), target = target_of(out, parts);
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
