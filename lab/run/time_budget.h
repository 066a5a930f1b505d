// Chooses the number of steps of a run that is to last for a given time, from a short measurement,
// and the number of its chains.
#pragma once

#include <cstdint>
#include <functional>

namespace isinglass {

struct TimeBudget {
  double seconds;             // the time that is left for the measurement and the run
  int64_t after = 0;          // steps that the run makes after burn-in
  int64_t least = 2;          // least number of burn-in steps
  int64_t most = 4294967295;  // largest number of steps, burn-in and `after` together
};

// Returns the number of burn-in steps with which the run fills the time. make_steps(n) makes n
// steps like those of the run; n is doubled until the last measurement took 4 % of the time, or all
// of them together a fifth. `clock` returns the time in seconds. Where not even the least number
// fits, that number is returned.
int64_t burn_in_within(const TimeBudget& budget, const std::function<void(int64_t)>& make_steps,
                       const std::function<double()>& clock);

// Returns how many chains a resampled population should have, if `populations` of them together can
// make this many steps, a step of one chain counted as one: as many as each makes steps. Returns 0
// if this is less than kLeastPopulation, where longer runs of fewer chains do better
// (docs/guide/combinatorial-problems.md).
int64_t population_within(double chain_steps, int64_t populations);

inline constexpr int64_t kLeastPopulation = 1000;

}  // namespace isinglass
