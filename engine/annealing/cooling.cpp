// Implements the cooling of the target.
#include "engine/annealing/cooling.h"

#include <algorithm>
#include <cmath>

namespace isinglass {

Cooling::Cooling(EnergyModel& target, Temperatures temperatures, int64_t steps,
                 torch::Device device, int64_t most_levels)
    : temperatures_(temperatures),
      steps_(steps),
      levels_(std::min(steps, most_levels)),
      temperature_(temperatures.first),
      model_(target, nullptr, device, TemperedModel::Form::kLattice) {}

int64_t Cooling::first_level_steps(int64_t steps) {
  const int64_t levels = std::min(steps, kCoolingLevels);
  return (steps + levels - 1) / levels;
}

// Level l begins at the first step t with ⌊tL/steps⌋ = l.
int64_t Cooling::before_step(int64_t t, const Sampler& sampler, ChainState& state, StepParams&) {
  const int64_t level = std::min(t * levels_ / steps_, levels_ - 1);
  if (level != level_) {
    level_ = level;
    // If there is only one level, it has the last temperature.
    const double share =
        levels_ > 1 ? static_cast<double>(level) / static_cast<double>(levels_ - 1) : 1;
    temperature_ = temperatures_.first * std::pow(temperatures_.last / temperatures_.first, share);
    model_.set_beta(1 / temperature_);
    model_.reevaluate(sampler, state);
  }
  if (level + 1 == levels_) return kForever;
  return ((level + 1) * steps_ + levels_ - 1) / levels_ - t;
}

}  // namespace isinglass
