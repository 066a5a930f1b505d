// Heat capacity C = ⟨U²⟩ − ⟨U⟩² at temperature 1: the variance of the energy over a chain's draws,
// averaged over the chains.
#include "lab/grid/metrics/cell_run.h"

namespace isinglass {

std::vector<Metric> heat_capacity_metrics() {
  return {{.key = "heat_capacity",
           .title = "heat capacity",
           .higher_is_better = true,
           .has_error = true,
           .at_equilibrium = true,
           .measure = [](const CellRun& run) {
             const torch::Tensor energy = run.recorder.energy();  // float64 [draws, chains]
             return mean_over_chains(energy.var(0), run.group);
           }}};
}

}  // namespace isinglass
