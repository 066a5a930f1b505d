// Implements the recording of the best solution.
#include "engine/observers/best_solution.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "io/pt/entries.h"

namespace isinglass {
namespace {

// Relative rounding of energies: a smaller improvement does not count.
constexpr double kRounding = 1e-9;
constexpr int64_t kMostTogether = 64, kKeptBytes = 64 << 20;

}  // namespace

// Returns the value that −U must exceed. −U is the objective, or less if constraints are violated,
// so that a state whose −U is no better than the best one need not be examined.
double BestSolution::needed() const {
  const double value = best_.value;
  return found() ? value + kRounding * std::max(1.0, std::abs(value)) : value;
}

void BestSolution::on_step(int64_t, bool, const ChainState& state) {
  ++steps_;
  chain_ids_ = state.chain_ids;
  const torch::Tensor& energy = state.current.untempered();
  if (together_ == 0) {
    const auto bytes = std::max<int64_t>(1, static_cast<int64_t>(state.x.nbytes()));
    together_ = energy.is_cpu() ? 1 : std::clamp<int64_t>(kKeptBytes / bytes, 1, kMostTogether);
  }
  if (together_ == 1) return look(state.x.unsqueeze(0), energy.unsqueeze(0));
  if (!kept_x_.defined()) {
    kept_x_ = torch::empty({together_, state.x.size(0), state.x.size(1)}, state.x.options());
    kept_energy_ = torch::empty({together_, energy.size(0)}, energy.options());
  }
  kept_x_[waiting_].copy_(state.x);
  kept_energy_[waiting_].copy_(energy);
  if (++waiting_ == together_) look_at_kept();
}

void BestSolution::look_at_kept() {
  if (waiting_ == 0) return;
  const int64_t steps = std::exchange(waiting_, 0);
  look(kept_x_.narrow(0, 0, steps), kept_energy_.narrow(0, 0, steps));
}

// Examines the last steps, [n, B, D] and [n, B]. In most cases one minimum shows that there is
// nothing to do.
void BestSolution::look(const torch::Tensor& x, const torch::Tensor& energy) {
  if (-energy.min().item<double>() <= needed()) return;
  // [m, 2], ordered by step
  const torch::Tensor places = (-energy > needed()).nonzero().to(torch::kCPU);
  const torch::Tensor rows = places.select(1, 0) * energy.size(1) + places.select(1, 1);
  const torch::Tensor states = x.flatten(0, 1).index_select(0, rows.to(x.device()));
  const torch::Tensor value =
      problem_.objective(states)
          .masked_fill(problem_.violations(states) > 0, -std::numeric_limits<double>::infinity())
          .to(torch::kCPU);
  for (int64_t begin = 0, end = 0; begin < rows.numel(); begin = end) {
    const int64_t step = places[begin][0].item<int64_t>();
    while (end < rows.numel() && places[end][0].item<int64_t>() == step) ++end;
    const int64_t best = begin + value.slice(0, begin, end).argmax().item<int64_t>();
    if (value[best].item<double>() <= needed()) continue;
    best_ = {value[best].item<double>(), states.narrow(0, best, 1).cpu(),
             steps_ - (energy.size(0) - 1 - step),
             chain_ids_[places[best][1].item<int64_t>()].item<int64_t>()};
  }
}

void BestSolution::on_end() {
  look_at_kept();
  best_ = of_all();
}

// Returns the best solution of all ranks; among equal values it is the one seen first, as in a
// single process.
BestSolution::Best BestSolution::of_all() const {
  if (ranks_.size() == 1) return best_;
  const torch::Tensor own =
      found() ? best_.state : torch::zeros({1, problem_.space().sites}, torch::kUInt8);
  const torch::Tensor values = ranks_.gather(torch::tensor({best_.value}, torch::kFloat64));
  const torch::Tensor steps = ranks_.gather(torch::tensor({best_.step}));
  const torch::Tensor chains = ranks_.gather(torch::tensor({best_.chain}));
  const torch::Tensor states = ranks_.gather(own);
  const auto value = values.accessor<double, 1>();
  const auto step = steps.accessor<int64_t, 1>();
  int64_t best = 0;
  for (int64_t r = 1; r < ranks_.size(); ++r) {
    if (!std::isfinite(value[r])) continue;
    const double clear = kRounding * std::max(1.0, std::abs(value[r]));
    const bool earlier = value[r] >= value[best] - clear && step[r] < step[best];
    if (value[r] - clear > value[best] || earlier) best = r;
  }
  if (!std::isfinite(value[best])) return best_;
  return {value[best], states.narrow(0, best, 1).clone(), step[best], chains[best].item<int64_t>()};
}

PtDict BestSolution::saved() const {
  const Best best = of_all();
  PtDict dict;
  put(dict, "steps", steps_);
  if (!best.state.defined()) return dict;
  put(dict, "value", best.value);
  put(dict, "state", best.state);
  put(dict, "step", best.step);
  put(dict, "chain", best.chain);
  return dict;
}

void BestSolution::restore(const PtDict& saved) {
  const PtEntries entries(saved, "the best solution");
  steps_ = entries.integer("steps");
  best_ = {};
  if (!entries.find<torch::Tensor>("state")) return;
  best_ = {entries.real("value"), entries.tensor("state"), entries.integer("step"),
           entries.integer("chain")};
}

}  // namespace isinglass
