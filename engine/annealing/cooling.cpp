// Implements the cooling of the target.
#include "engine/annealing/cooling.h"

#include <algorithm>
#include <cmath>

#include "engine/annealing/population.h"

namespace isinglass {

Cooling::Cooling(EnergyModel& target, Temperatures temperatures, int64_t steps,
                 torch::Device device, int64_t population, int64_t most_levels)
    : temperatures_(temperatures),
      steps_(steps),
      population_(population),
      levels_(std::min(steps, most_levels)),
      temperature_(temperatures.first),
      model_(target, nullptr, device, TemperedModel::Form::kLattice) {}

int64_t Cooling::first_level_steps(int64_t steps) {
  const int64_t levels = std::min(steps, kCoolingLevels);
  return (steps + levels - 1) / levels;
}

// Level l begins at the first step t with ⌊tL/steps⌋ = l.
int64_t Cooling::before_step(int64_t t, const Sampler& sampler, ChainState& state,
                             StepParams& params) {
  const int64_t level = std::min(t * levels_ / steps_, levels_ - 1);
  if (level != level_) {
    const double before = temperature_;
    // A run that goes on begins within a level, whose chains have been resampled.
    const bool resamples = population_ > 1 && level_ >= 0;
    level_ = level;
    // If there is only one level, it has the last temperature.
    const double share =
        levels_ > 1 ? static_cast<double>(level) / static_cast<double>(levels_ - 1) : 1;
    temperature_ = temperatures_.first * std::pow(temperatures_.last / temperatures_.first, share);
    model_.set_beta(1 / temperature_);
    if (resamples) {
      resample(before, sampler, state, params);
    } else {
      model_.reevaluate(sampler, state);
    }
  }
  if (level + 1 == levels_) return kForever;
  return ((level + 1) * steps_ + levels_ - 1) / levels_ - t;
}

// The chains' energies are still those at the temperature before, U/T, so that the log-weight is
// −(1/T' − 1/T) U = −(T/T' − 1) U/T.
void Cooling::resample(double before, const Sampler& sampler, ChainState& state,
                       const StepParams& params) {
  const torch::Tensor log_weight = state.current.energy * (1 - before / temperature_);
  const torch::Tensor chosen =
      resampled_chains(log_weight, population_, params.rng, state.chain_ids).to(state.x.device());
  state.x.copy_(state.x.index_select(0, chosen));
  sampler.reevaluate(model_, state);
}

}  // namespace isinglass
