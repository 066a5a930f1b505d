// Holds the results of a cell's run from which its metrics are computed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "io/torch.h"
#include "lab/grid/metrics.h"
#include "lab/run/sampling.h"

namespace isinglass {

// Holds the energies averaged over chains, and the steps after which they were taken: burn-in
// first, then draws.
struct Trace {
  torch::Tensor step, energy;  // float64 [points]
};

struct CellRun {
  const Sampling& sampling;
  const Recorder& recorder;               // It has recorded the draws.
  const nlohmann::ordered_json& summary;  // Holds the contents of summary.json.
  const Trace& trace;
  int64_t group;  // This many chains move together.
};

// Returns the mean of [chains] with its standard error. Groups of chains move together and count as
// one.
Estimate mean_over_chains(const torch::Tensor& per_chain, int64_t group = 1);

// Returns a number of a JSON file, or NaN for null.
double number_of(const nlohmann::ordered_json& value);

}  // namespace isinglass
