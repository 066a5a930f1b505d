// A cell of a grid: one run of a sampler on a model (lab/run/sampling.h), and what is measured of
// it.
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

// Runs the cell; while its chains have not converged (R̂ above 1.05 or undefined) and the next run,
// of twice the length, fits into `until_converged` seconds, runs it longer; the last run is the one
// that counts. Its length follows its outcome: of chains that have just come below the limit ESS is
// too large. Returns {status, metrics, summary, trace, autocorrelation[, mmd_trace, mode_trace,
// picture][, longer_run]}, or, where it fails, {status: "failed", error}; longer_run: the seconds that the next one would take, where the
// chains have not converged. Throws Interrupted only.
nlohmann::ordered_json run_cell(const Grid& grid, const Cell& cell, GridModels& models,
                                torch::Device device, const Stop& stop = {},
                                double until_converged = 0);

// What `measure` returns, or {status: "failed", error, metrics: {}} with the message of what it throws
// but Interrupted.
nlohmann::ordered_json done_or_failed(const std::function<nlohmann::ordered_json()>& measure);

// A metric of a cell, with its error if it has one.
void put(nlohmann::ordered_json& metrics, const std::string& key, const Estimate& measured);

}  // namespace isinglass
