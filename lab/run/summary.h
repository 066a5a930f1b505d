// The summary of a run of sampling: summary.json.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/observers/best_solution.h"
#include "engine/observers/recorder.h"
#include "engine/sampler.h"
#include "io/torch.h"
#include "lab/spec/spec.h"
#include "models/lattice/graph_file.h"

namespace isinglass {

// Of a resolved spec. Undefined values are NaN, which becomes null. `params` after the run: the
// adapted values.
nlohmann::ordered_json summary_json(const SampleSpec& spec, const EnergyModel& model,
                                    const Sampler& sampler, const StepParams& params,
                                    const RunPlan& plan, const RunResult& result,
                                    const Recorder& recorder);

// Adds energies_sha256, the identity of the model's functions (models/identity.h), where it has
// some; null where they are not the same from call to call.
void add_functions(const EnergyModel& model, torch::Device device, nlohmann::ordered_json& summary);

// A sentence where chains did not move in the kept steps, of a summary: their draws say nothing of the
// target. Empty where all moved, or where steps are too few to tell.
std::string unmoved_warning(const nlohmann::ordered_json& summary);

// {value, optimum, ratio, step, chain}: what is not known is NaN, which becomes null. The optimum
// is the known one, or what the graph's file names.
nlohmann::ordered_json solution_json(std::optional<double> known, const BestSolution& best);

// What was understood of a graph's file.
nlohmann::ordered_json graph_json(const GraphReading& reading);

// A sentence where the best solution is above the optimum, of a summary; empty where it is not.
std::string optimum_warning(const nlohmann::ordered_json& summary);

}  // namespace isinglass
