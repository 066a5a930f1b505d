// The summary of a run of sampling: summary.json.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/observers/best_solution.h"
#include "engine/observers/mixing.h"
#include "engine/observers/recorder.h"
#include "engine/sampler.h"
#include "io/torch.h"
#include "lab/spec/spec.h"
#include "models/lattice/graph_file.h"

namespace isinglass {

// A number of a JSON file, which has no infinity: the largest double stands for it. An undefined
// one becomes null.
double json_number(double value);

// Adds energies_sha256, the identity of the model's functions (models/identity.h), where it has
// some; null where they are not the same from call to call.
void add_functions(const EnergyModel& model, torch::Device device, nlohmann::ordered_json& summary);

// For a resolved spec. Undefined values are NaN, which becomes null. State and `params` after the
// run; mixing: null where nobody watched it.
nlohmann::ordered_json summary_json(const SampleSpec& spec, EnergyModel& model,
                                    const Sampler& sampler, const ChainState& state,
                                    const StepParams& params, const RunPlan& plan,
                                    const RunResult& result, const Recorder& recorder,
                                    const MixingWatch* mixing);

// Sentences, which name options (io/error.h), on what is amiss with the chains of a summary: some
// did not move, or they do not agree. Empty after annealing, where chains are to stand still and
// may be in different optima, and of what so few steps cannot tell.
std::vector<std::string> chain_warnings(const nlohmann::ordered_json& summary);

// {value, optimum, ratio, step, chain}: what is not known is NaN, which becomes null. The optimum
// is the known one, or what the graph's file names.
nlohmann::ordered_json solution_json(std::optional<double> known, const BestSolution& best);

// Returns how a graph's file was understood.
nlohmann::ordered_json graph_json(const GraphReading& reading);

// A sentence where the best solution is above the optimum, of a summary; empty where it is not.
std::string optimum_warning(const nlohmann::ordered_json& summary);

}  // namespace isinglass
