// Runs a cell of a grid, that is, one run of a sampler on a model (lab/run/sampling.h), and
// measures it.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "io/torch.h"
#include "lab/grid/cells/trained_models.h"
#include "lab/grid/grid.h"
#include "lab/grid/metrics.h"
#include "lab/run/assemble.h"

namespace isinglass {

// Runs the cell. While its chains have not converged (R̂ above 1.05 or undefined) and the next run,
// of twice the length, fits into `until_converged` seconds, runs it again at that length; the last
// run counts. The length thus depends on the outcome: the ESS of chains that have only just fallen
// below the limit is too large. Returns {status, metrics, summary, trace, autocorrelation[,
// mmd_trace, mode_trace, picture][, longer_run]} or, if the cell fails, {status: "failed", error}.
// longer_run is the time [s] that the next run would take, if the chains have not converged. Throws
// Interrupted only.
nlohmann::ordered_json run_cell(const Grid& grid, const Cell& cell, GridModels& models,
                                torch::Device device, const Stop& stop = {},
                                double until_converged = 0);

// Returns what `measure` returns. If it throws, returns {status: "failed", error, metrics: {}} with
// its message; Interrupted and exceptions of unknown types pass through.
nlohmann::ordered_json done_or_failed(const std::function<nlohmann::ordered_json()>& measure);

// Stores a metric of a cell, with its standard error if the metric has one.
void put(nlohmann::ordered_json& metrics, const std::string& key, const Estimate& measured);

}  // namespace isinglass
