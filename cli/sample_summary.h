// The summary of `isinglass sample`: summary.json and the text on the terminal.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/options/options.h"
#include "engine/observers/recorder.h"
#include "engine/observers/best_solution.h"
#include "engine/sampler.h"
#include "io/torch.h"

namespace isinglass {

// Undefined values are NaN, which becomes null. `params` after the run: the adapted values.
nlohmann::ordered_json summary_json(const Options& options, const EnergyModel& model,
                                    const Sampler& sampler, const StepParams& params,
                                    const RunPlan& plan, const RunResult& result,
                                    const Recorder& recorder);

// {value, optimum, ratio, step, chain}: what is not known is NaN, which becomes null. The optimum
// is
// --optimum, or what the graph's file names.
nlohmann::ordered_json solution_json(const Options& options, const BestSolution& best);

std::string summary_text(const nlohmann::ordered_json& summary, const std::string& directory);

}  // namespace isinglass
