// Makes the summary of a run of sampling, summary.json.
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
#include "models/density/bayesnet.h"
#include "models/lattice/graph_file.h"
#include "models/lattice/quadratic_file.h"

namespace isinglass {

// Returns a number for a JSON file. JSON has no infinity; the largest double replaces it. NaN
// becomes null.
double json_number(double value);

// Adds energies_sha256, the identity of the model's functions (models/identity.h), if it has any;
// null if they change from call to call.
void add_functions(const EnergyModel& model, torch::Device device, nlohmann::ordered_json& summary);

// Returns the summary for a resolved spec, with the state and `params` after the run. Undefined
// values are NaN, which becomes null. Each `group` of consecutive chains shares a target. `mixing`
// is null if mixing was not watched.
nlohmann::ordered_json summary_json(const SampleSpec& spec, EnergyModel& model,
                                    const Sampler& sampler, const ChainState& state,
                                    const StepParams& params, const RunPlan& plan,
                                    const RunResult& result, const Recorder& recorder,
                                    int64_t group, const MixingWatch* mixing);

// Returns warnings, which name options (io/error.h), about the chains of a summary: some did not
// move, or they disagree. After annealing, in which chains are meant to come to rest and may be in
// different optima, it returns warnings about the temperatures instead. Returns none if there are
// too few steps to tell.
std::vector<std::string> chain_warnings(const nlohmann::ordered_json& summary);

// Returns {value, optimum, ratio, step, chain, found_by, mean_step}; unknown numbers are NaN, which
// becomes null. The optimum is the given one, or the one that the graph's file names. If the value
// is an energy, which the run minimises, `minimises` is true. found_by counts the chains that
// reached the value, and mean_step is the mean of the steps after which they did.
nlohmann::ordered_json solution_json(std::optional<double> known, const BestSolution& best);

// Describes an annealing run for its summary.
struct AnnealedRun {
  int64_t chains;            // 0 if they do not share a target
  int64_t group;             // chains that depend on each other; 1 if all are independent
  int64_t steps;             // burn-in included
  double seconds;            // of all steps of all chains together
  double at_first, at_last;  // u(T_0) and u(T_1) (engine/annealing/temperature_range.h)
};

// Returns the verdict on an annealing run (docs/guide/combinatorial-problems.md): its time, the
// fraction of chains that reached the optimum, or the best value if none is known, and the time to
// solution (time_to_solution.h). `solution` is solution_json().
nlohmann::ordered_json annealing_json(const AnnealedRun& run,
                                      const nlohmann::ordered_json& solution,
                                      const BestSolution& best);

// Return how the file of a graph, a quadratic function or a network was interpreted.
nlohmann::ordered_json graph_json(const GraphReading& reading);
nlohmann::ordered_json quadratic_json(const QuadraticReading& reading);
nlohmann::ordered_json network_json(const NetworkReading& reading);

// Returns a warning if the best solution of a summary is better than the optimum, otherwise an
// empty text.
std::string optimum_warning(const nlohmann::ordered_json& summary);

}  // namespace isinglass
