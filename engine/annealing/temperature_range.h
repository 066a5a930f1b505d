// Chooses the temperatures of simulated annealing from the target's own differences of energy.
//
// A change sets one site to another value; Δ is the change of U. At temperature T the uphill
// changes, those with Δ > 0, would be accepted with the probabilities exp(−Δ/T) (Metropolis et al.
// 1953), and their means over random sites of the chains' states are
//
//   u(T) = mean exp(−Δ/T)      w(T) = Σ Δ exp(−Δ/T) / Σ Δ      over Δ > 0
//
// The usual rule takes T_0 from the largest and T_1 from the least difference that a flip can have
// (Kirkpatrick, Gelatt & Vecchi 1983; dwave-neal: e^{−Δmax/T_0} = 1/2, e^{−Δmin/T_1} = 1/100). The
// largest difference is that of a state which no chain visits, so that T_0 is too high by a factor
// of ten or more on G-set graphs. Here a pilot cools a few chains and takes the differences at
// their states:
//
//   T_0 is where w = 1/10,  T_1 is where u = min(1/1000, 1/(2D))
//
// With the second, a sweep of a state of D sites at T_1 accepts half an uphill change on average,
// so that most states there are at the bottom of their valley. On G-set graphs, 1/10 is within the
// range where the mean cut at a given number of sweeps is largest.
//
// The weights Δ of w make T_0 a temperature of the large differences, and u, which counts all
// alike, makes T_1 one of the small differences, if a target has both. Means over uphill changes do
// not depend on how well the pilot has followed the temperature. Both temperatures are proportional
// to the energy, so that a target times a constant is annealed at the same ratios.
//
// The pilot begins at T = root mean square of Δ at random states and cools by a constant factor per
// level until it has found T_1.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>

#include "engine/annealing/cooling.h"
#include "engine/context.h"
#include "engine/run/observer.h"

namespace isinglass {

// Return w(T_0) and, for states of this many sites, u(T_1).
inline constexpr double kFirstAccepted = 0.1;
inline double last_accepted(int64_t sites) {
  return std::min(1e-3, 0.5 / static_cast<double>(sites));
}

// Returns Δ of random changes of each state, [B, changes] float64 on the CPU: one site, drawn
// uniformly, is set to another value, drawn uniformly. The draws depend on the seed, the chain's
// number and `draw`. Differences within the rounding of the energies are 0. x is uint8 [B, D] on
// the model's device, and the states are binary or categorical. chain_ids: int64 [B].
torch::Tensor change_energies(EnergyModel& model, const torch::Tensor& x,
                              const torch::Tensor& chain_ids, int64_t changes, uint64_t seed,
                              int64_t draw);

// Returns u(T) of differences of energy; NaN if none is above 0. `weighted` gives w(T).
double uphill_acceptance(const torch::Tensor& differences, double temperature,
                         bool weighted = false);

// Holds the chains of the pilot.
struct PilotChains {
  torch::Tensor states = {}, ids = {};  // uint8 [B, D] on the device, and int64 [B]
  uint64_t seed = 0;
  // Makes the sampler for the pilot's model.
  std::function<std::unique_ptr<Sampler>(const EnergyModel&)> sampler = {};
};

// Returns T_0 and T_1 for the target. The same chains give the same temperatures. Throws Error if
// no change has a finite difference of energy other than 0.
Temperatures temperature_range(EnergyModel& target, const PilotChains& chains,
                               torch::Device device);

// Measures u(T_0) at the end of the first level of a cooling run and u(T_1) at the end of burn-in,
// at the states of the first chains. It tells whether the temperatures suit the target. All ranks
// call on_step() together.
class RangeWatch : public Observer {
 public:
  // burn_in: its number of steps. chains: those with smaller numbers are looked at.
  RangeWatch(EnergyModel& target, Temperatures range, int64_t burn_in, int64_t chains,
             uint64_t seed, const Ranks& ranks = Ranks::single_process())
      : target_(target),
        range_(range),
        burn_in_(burn_in),
        chains_(chains),
        seed_(seed),
        ranks_(ranks) {}

  void on_step(int64_t step, bool burn_in, const ChainState& state) override;

  // Return u(T_0) and u(T_1); NaN if the step has not been made yet, or if there is no difference.
  double at_first() const { return at_first_; }
  double at_last() const { return at_last_; }
  void restore(double at_first, double at_last);

 private:
  double measured(const ChainState& state, double temperature, int64_t draw) const;

  EnergyModel& target_;
  Temperatures range_;
  int64_t burn_in_, chains_;
  uint64_t seed_;
  const Ranks& ranks_;
  double at_first_ = std::numeric_limits<double>::quiet_NaN();
  double at_last_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace isinglass
