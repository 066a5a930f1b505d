// What the run of a cell leaves, of which its metrics are measured.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "io/torch.h"
#include "lab/grid/metrics.h"
#include "lab/run/sampling.h"

namespace isinglass {

// Mean energies over chains, with the steps after which they were: burn-in, then draws.
struct Trace {
  torch::Tensor step, energy;  // float64 [points]
};

struct CellRun {
  const Sampling& sampling;
  const Recorder& recorder;               // of the draws
  const nlohmann::ordered_json& summary;  // summary.json
  const Trace& trace;
  int64_t group;  // of so many chains that move together
};

// Mean of [chains] with its standard error; groups of chains move together.
Estimate mean_over_chains(const torch::Tensor& per_chain, int64_t group = 1);

// A number of a JSON file; NaN for null.
double number_of(const nlohmann::ordered_json& value);

}  // namespace isinglass
