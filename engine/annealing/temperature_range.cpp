// Implements the pilot of annealing and the watch over its temperatures.
#include "engine/annealing/temperature_range.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "engine/diagnostics/energy_rounding.h"
#include "io/error.h"
#include "kernels/random/philox.h"
#include "models/full_precision.h"

namespace isinglass {
namespace {

// The pilot takes this many changes of each of its chains per level.
constexpr int64_t kPilotChanges = 64;
// The watch takes this many changes of each chain.
constexpr int64_t kWatchedChanges = 64;
// A level of the pilot lasts until sites have changed about D times, within these bounds of steps.
constexpr int64_t kLeastSteps = 5, kMostSteps = 50;
// Cooling by 0.85 per level, the pilot covers differences of up to 14 orders of magnitude.
constexpr double kPilotFactor = 0.85;
constexpr int64_t kMostLevels = 200;
// The changes that are measured have random numbers of their own.
constexpr uint64_t kOwnNumbers = 0x9e3779b97f4a7c15ULL;

struct Changes {
  torch::Tensor site, value;  // int64 [B, changes]
};

Changes draw_changes(const torch::Tensor& x, const torch::Tensor& chain_ids, int64_t categories,
                     int64_t changes, uint64_t seed, int64_t draw) {
  const int64_t rows = x.size(0), sites = x.size(1);
  const torch::Tensor from = x.to(torch::kCPU).contiguous();
  const uint8_t* own = from.data_ptr<uint8_t>();
  const torch::Tensor ids = chain_ids.to(torch::kCPU).contiguous();
  Changes all{torch::empty({rows, changes}, torch::kInt64),
              torch::empty({rows, changes}, torch::kInt64)};
  int64_t* site = all.site.data_ptr<int64_t>();
  int64_t* value = all.value.data_ptr<int64_t>();
  for (int64_t b = 0; b < rows; ++b) {
    const PhiloxStream draws{seed ^ kOwnNumbers, static_cast<uint32_t>(ids.data_ptr<int64_t>()[b]),
                             static_cast<uint32_t>(draw)};
    for (int64_t c = 0; c < changes; ++c) {
      const auto position = static_cast<uint32_t>(c);
      const int64_t i = draws.below(static_cast<uint32_t>(sites), Purpose::kSite, position);
      // One of the K − 1 other values.
      const int64_t step =
          1 + draws.below(static_cast<uint32_t>(categories - 1), Purpose::kValue, position);
      *site++ = i;
      *value++ = (own[b * sites + i] + step) % categories;
    }
  }
  return all;
}

// Returns Δ, [B, changes] on the CPU, and the size of its rounding. The models of restricted chains
// know each chain by its row, so that every call has the same rows.
std::pair<torch::Tensor, double> differences_of(EnergyModel& model, const torch::Tensor& x,
                                                const Changes& changes) {
  const int64_t each = changes.site.size(1);
  HasConditionals* conditionals = model.conditionals();
  torch::Tensor from, all;
  double rounding = kCarriedRounding;
  if (conditionals) {
    all = torch::empty({x.size(0), model.space().categories},
                       torch::TensorOptions(torch::kFloat64).device(x.device()));
  } else {
    const torch::Tensor before = model.energy(x);
    rounding = energy_rounding(model, before.scalar_type());
    from = before.to(torch::kFloat64);
  }
  std::vector<torch::Tensor> columns;
  for (int64_t c = 0; c < each; ++c) {
    const torch::Tensor site = changes.site.select(1, c).contiguous().to(x.device());
    const torch::Tensor value = changes.value.select(1, c).unsqueeze(1).to(x.device());
    if (conditionals) {
      conditionals->conditional_differences(x, site, all);
      columns.push_back(all.gather(1, value).squeeze(1));
      continue;
    }
    const torch::Tensor y = x.scatter(1, site.unsqueeze(1), value.to(x.scalar_type()));
    columns.push_back(model.energy(y).to(torch::kFloat64) - from);
  }
  const torch::Tensor difference = torch::stack(columns, 1).to(torch::kCPU);
  // The size of the numbers whose difference was taken.
  const torch::Tensor size = (conditionals ? difference : from.to(torch::kCPU)).abs();
  const torch::Tensor finite = size.masked_fill(size.isfinite().logical_not(), 0);
  return {difference, rounding * finite.max().item<double>()};
}

// Returns the temperature between `low` and `high` where the mean crosses `accepted`, by bisection
// of its logarithm.
double crossing(const torch::Tensor& differences, double low, double high, double accepted,
                bool weighted) {
  for (int i = 0; i < 40; ++i) {
    const double middle = std::sqrt(low * high);
    (uphill_acceptance(differences, middle, weighted) < accepted ? low : high) = middle;
  }
  return std::sqrt(low * high);
}

}  // namespace

torch::Tensor change_energies(EnergyModel& model, const torch::Tensor& x,
                              const torch::Tensor& chain_ids, int64_t changes, uint64_t seed,
                              int64_t draw) {
  const torch::NoGradGuard no_grad;
  const FullPrecision full;
  const auto [difference, rounding] = differences_of(
      model, x, draw_changes(x, chain_ids, model.space().categories, changes, seed, draw));
  return difference.masked_fill(difference.abs() <= rounding, 0);
}

double uphill_acceptance(const torch::Tensor& differences, double temperature, bool weighted) {
  const torch::Tensor uphill =
      differences.masked_select((differences > 0).logical_and(differences.isfinite()));
  if (uphill.numel() == 0) return std::numeric_limits<double>::quiet_NaN();
  const torch::Tensor accepted = (-uphill / temperature).exp();
  if (!weighted) return accepted.mean().item<double>();
  const torch::Tensor weight = uphill / uphill.max();  // because a sum may overflow
  return ((weight * accepted).sum() / weight.sum()).item<double>();
}

Temperatures temperature_range(EnergyModel& target, const PilotChains& chains,
                               torch::Device device) {
  torch::Tensor changes =
      change_energies(target, chains.states, chains.ids, kPilotChanges, chains.seed, 0);
  const torch::Tensor finite = changes.masked_select(changes.isfinite());
  const double largest = finite.numel() > 0 ? finite.abs().max().item<double>() : 0;
  require_options(largest > 0,
                  "`anneal` auto needs differences of energy, but all changes of single sites that "
                  "were tried left the energy of {} as it was, or made it infinite; give two "
                  "temperatures",
                  target.title());
  double temperature = largest * (finite / largest).square().mean().sqrt().item<double>();
  TemperedModel model(target, nullptr, device, TemperedModel::Form::kLattice);
  model.set_beta(1 / temperature);
  const std::unique_ptr<Sampler> sampler = chains.sampler(model);
  ChainState state = sampler->init(model, chains.states.clone(), chains.ids);
  StepParams params = sampler->params(chains.seed, device);
  Temperatures range{temperature, temperature};
  const double last = last_accepted(state.sites());
  bool first_found = false;
  int64_t steps = kLeastSteps;
  for (int64_t level = 1; level <= kMostLevels; ++level) {
    state.statistics.reset();
    sampler->steps(model, state, params, steps);
    const double hops = state.statistics.hops_sum.to(torch::kFloat64).mean().item<double>() /
                        static_cast<double>(steps);
    const double needed = static_cast<double>(state.sites()) / std::max(hops, 1e-3);
    steps = static_cast<int64_t>(
        std::clamp(needed, static_cast<double>(kLeastSteps), static_cast<double>(kMostSteps)));
    const torch::Tensor now =
        change_energies(target, state.x, chains.ids, kPilotChanges, chains.seed, level);
    // At a state from which no change leads uphill, the differences seen before count.
    if (now.gt(0).logical_and(now.isfinite()).any().item<bool>()) changes = now;
    const double above = temperature / kPilotFactor;
    const auto found = [&](double accepted, bool weighted) {
      return level == 1 ? temperature : crossing(changes, temperature, above, accepted, weighted);
    };
    if (!first_found && !(uphill_acceptance(changes, temperature, true) > kFirstAccepted)) {
      range.first = found(kFirstAccepted, true);
      first_found = true;
    }
    range.last = temperature;
    if (first_found && !(uphill_acceptance(changes, temperature) > last)) {
      range.last = found(last, false);
      break;
    }
    temperature *= kPilotFactor;
    model.set_beta(1 / temperature);
    model.reevaluate(*sampler, state);
  }
  range.last = std::min(range.first, range.last);
  return range;
}

// Chains are numbered in the order of the ranks, so that the gathered rows do not depend on the
// number of ranks.
double RangeWatch::measured(const ChainState& state, double temperature, int64_t draw) const {
  const int64_t own = state.chain_ids.lt(chains_).nonzero().size(0);
  torch::Tensor differences = torch::empty({0, kWatchedChanges}, torch::kFloat64);
  if (own > 0) {
    differences = change_energies(target_, state.x.narrow(0, 0, own),
                                  state.chain_ids.narrow(0, 0, own), kWatchedChanges, seed_, draw);
  }
  return uphill_acceptance(ranks_.gather(differences), temperature);
}

void RangeWatch::on_step(int64_t step, bool burn_in, const ChainState& state) {
  if (!burn_in) return;
  if (step + 1 == Cooling::first_level_steps(burn_in_)) {
    at_first_ = measured(state, range_.first, 0);
  }
  if (step + 1 == burn_in_) at_last_ = measured(state, range_.last, 1);
}

void RangeWatch::restore(double at_first, double at_last) {
  at_first_ = at_first;
  at_last_ = at_last;
}

}  // namespace isinglass
