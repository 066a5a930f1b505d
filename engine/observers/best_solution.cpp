// Implements the recording of the best state.
#include "engine/observers/best_solution.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "engine/diagnostics/energy_rounding.h"
#include "engine/run/initial_states.h"
#include "io/pt/entries.h"
#include "models/full_precision.h"

namespace isinglass {
namespace {

constexpr int64_t kMostTogether = 64, kKeptBytes = 64 << 20;
constexpr int64_t kTypicalStates = 16;
constexpr double kNoValue = -std::numeric_limits<double>::infinity();

}  // namespace

BestSolution::BestSolution(EnergyModel& model, const Ranks& ranks, int64_t together)
    : model_(model),
      problem_(dynamic_cast<GraphProblem*>(&model)),
      constrained_(problem_ && problem_->penalty() > 0),
      ranks_(ranks),
      together_(together) {}

double BestSolution::rounding_at(double value) const {
  return rounding_ * std::max(std::abs(value), scale_);
}

// Returns the best value computed in float64 from the state alone, if the model computes energies
// in float64; otherwise the value with which the chain moved.
double BestSolution::value_of_state() const {
  if (!chain_ids_.defined()) return best_.value;
  const torch::NoGradGuard no_grad;
  const FullPrecision full;
  // A module in training mode may refuse a batch of one.
  const torch::Tensor twice = best_.state.to(chain_ids_.device()).repeat({2, 1});
  const torch::Tensor value = problem_ ? problem_->objective(twice) : -model_.energy(twice);
  return value.scalar_type() == torch::kFloat64 ? value[0].item<double>() : best_.value;
}

void BestSolution::on_step(int64_t, bool, const ChainState& state) {
  ++steps_;
  chain_ids_ = state.chain_ids;
  const torch::Tensor& energy = state.current.untempered();
  if (rounding_ == 0) {
    // The random states are the same on all ranks.
    const torch::NoGradGuard no_grad;
    const FullPrecision full;
    const torch::Tensor typical = model_.energy(
        random_states(model_.space(), torch::arange(kTypicalStates), /*seed=*/0, state.x.device()));
    rounding_ = energy_rounding(model_, typical.scalar_type());
    const torch::Tensor size = typical.to(torch::kCPU, torch::kFloat64).abs();
    const torch::Tensor finite = size.masked_select(size.isfinite());
    scale_ = finite.numel() > 0 ? finite.median().item<double>() : 0;
  }
  if (value_.empty()) {
    value_.assign(static_cast<size_t>(energy.size(0)), kNoValue);
    step_.assign(value_.size(), 0);
  }
  TORCH_INTERNAL_ASSERT(std::ssize(value_) == energy.size(0), "the number of chains has changed");
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

// Examines the last steps, [n, B, D] and [n, B].
void BestSolution::look(const torch::Tensor& x, const torch::Tensor& energy) {
  const torch::Tensor on_host = energy.to(torch::kCPU, torch::kFloat64).contiguous();
  const int64_t steps = energy.size(0);
  for (int64_t t = 0; t < steps; ++t) {
    look_at_step(x[t], on_host.data_ptr<double>() + t * energy.size(1), steps_ - (steps - 1 - t));
  }
}

// Removes the chains of `rows` that violate a constraint, and replaces −U in `values` by the value.
// −U is the value minus the penalty of each violation, so that most chains are known without their
// violations, which take a product for each edge.
void BestSolution::keep_feasible(const torch::Tensor& x, std::vector<int64_t>& rows,
                                 std::vector<double>& values) const {
  const auto states_of = [&] { return x.index_select(0, torch::tensor(rows).to(x.device())); };
  const auto numbers_of = [](const torch::Tensor& numbers) {
    const torch::Tensor on_host = numbers.to(torch::kCPU, torch::kFloat64).contiguous();
    return std::vector<double>(on_host.data_ptr<double>(),
                               on_host.data_ptr<double>() + on_host.numel());
  };
  const std::vector<double> objective = numbers_of(problem_->objective(states_of()));
  const auto keep = [&](const auto& kept) {
    size_t count = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (!kept(i)) continue;
      rows[count] = rows[i];
      values[count++] = values[i];
    }
    rows.resize(count);
    values.resize(count);
  };
  keep([&](size_t i) {
    const double rounding = std::max(problem_->penalty() / 2, rounding_at(objective[i]));
    if (!(values[i] >= objective[i] - rounding)) return false;
    values[i] = objective[i];
    return true;
  });
  if (rows.empty()) return;
  const std::vector<double> violations = numbers_of(problem_->violations(states_of()));
  keep([&](size_t i) { return violations[i] == 0; });
}

// Examines one step. −U is the value, or more than the value if constraints are violated, so that a
// chain whose −U is below the best value need not be examined. In most steps there is none.
void BestSolution::look_at_step(const torch::Tensor& x, const double* energy, int64_t step) {
  const double rounding = found() ? rounding_at(best_.value) : 0;
  const double least = best_.value - rounding, better = best_.value + rounding;
  std::vector<int64_t> rows;
  std::vector<double> values;
  for (size_t b = 0; b < value_.size(); ++b) {
    const double value = -energy[b];
    if (!(value >= least) || !std::isfinite(value)) continue;
    if (!(value > better) && value_[b] >= least) continue;
    rows.push_back(static_cast<int64_t>(b));
    values.push_back(value);
  }
  if (rows.empty()) return;
  if (constrained_) {
    keep_feasible(x, rows, values);
    if (rows.empty()) return;
  }
  const size_t top =
      static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin());
  if (values[top] > better) {
    best_ = {values[top], x.narrow(0, rows[top], 1).cpu().clone(), step,
             chain_ids_[rows[top]].item<int64_t>()};
  }
  if (!found()) return;
  const double reached = best_.value - rounding_at(best_.value);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto b = static_cast<size_t>(rows[i]);
    if (!(values[i] >= reached) || value_[b] >= reached) continue;
    value_[b] = values[i];
    step_[b] = step;
  }
}

void BestSolution::on_end() {
  look_at_kept();
  best_ = of_all();
  if (found()) correction_ = value_of_state() - best_.value;
  if (ranks_.size() == 1) return;
  const torch::Tensor values = ranks_.gather(torch::tensor(value_, torch::kFloat64));
  const torch::Tensor steps = ranks_.gather(torch::tensor(step_, torch::kInt64));
  value_.assign(values.data_ptr<double>(), values.data_ptr<double>() + values.numel());
  step_.assign(steps.data_ptr<int64_t>(), steps.data_ptr<int64_t>() + steps.numel());
}

BestSolution::Reached BestSolution::reached(double value, int64_t group) const {
  const double least = value - correction_ - rounding_at(value);
  Reached reached;
  double sum = 0;
  for (size_t first = 0; first < value_.size(); first += static_cast<size_t>(group)) {
    const size_t end = std::min(value_.size(), first + static_cast<size_t>(group));
    std::optional<int64_t> step;
    for (size_t b = first; b < end; ++b) {
      if (value_[b] >= least) step = std::min(step.value_or(step_[b]), step_[b]);
    }
    if (!step) continue;
    ++reached.chains;
    sum += static_cast<double>(*step);
  }
  if (reached.chains > 0) reached.mean_step = sum / static_cast<double>(reached.chains);
  return reached;
}

// Returns the best state of all ranks; among equal values it is the one seen first, as in a single
// process.
BestSolution::Best BestSolution::of_all() const {
  if (ranks_.size() == 1) return best_;
  const torch::Tensor state =
      found() ? best_.state : torch::zeros({1, model_.space().sites}, torch::kUInt8);
  const torch::Tensor values = ranks_.gather(torch::tensor({best_.value}, torch::kFloat64));
  const torch::Tensor steps = ranks_.gather(torch::tensor({best_.step}));
  const torch::Tensor chains = ranks_.gather(torch::tensor({best_.chain}));
  const torch::Tensor states = ranks_.gather(state);
  const auto value = values.accessor<double, 1>();
  const auto step = steps.accessor<int64_t, 1>();
  int64_t best = 0;
  for (int64_t r = 1; r < ranks_.size(); ++r) {
    if (!std::isfinite(value[r])) continue;
    const double clear = rounding_at(value[r]);
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
  put(dict, "reached_values", ranks_.gather(torch::tensor(value_, torch::kFloat64)));
  put(dict, "reached_steps", ranks_.gather(torch::tensor(step_, torch::kInt64)));
  if (!best.state.defined()) return dict;
  put(dict, "value", best.value);
  put(dict, "state", best.state);
  put(dict, "step", best.step);
  put(dict, "chain", best.chain);
  return dict;
}

void BestSolution::restore(const PtDict& saved, const Shard& own) {
  const PtEntries entries(saved, "the best solution");
  steps_ = entries.integer("steps");
  best_ = {};
  correction_ = 0;
  const torch::Tensor values = own.of(entries.tensor("reached_values")).contiguous();
  const torch::Tensor steps = own.of(entries.tensor("reached_steps")).contiguous();
  value_.assign(values.data_ptr<double>(), values.data_ptr<double>() + values.numel());
  step_.assign(steps.data_ptr<int64_t>(), steps.data_ptr<int64_t>() + steps.numel());
  if (!entries.find<torch::Tensor>("state")) return;
  best_ = {entries.real("value"), entries.tensor("state"), entries.integer("step"),
           entries.integer("chain")};
}

}  // namespace isinglass
