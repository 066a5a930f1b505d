// Makes parallel tempering (engine/tempering/parallel_tempering.h) the sampler of a run, by the
// `rungs` of its spec, and reports it in the summary.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>

#include "engine/run/run.h"
#include "engine/tempering/parallel_tempering.h"
#include "lab/spec/spec.h"

namespace isinglass {

inline bool tempered(const SampleSpec& spec) {
  return !spec.rungs.empty();
}

// The spec's chains, which must be known, are the number of ensembles. limit: that of a model of
// few changes, whose reference distribution then has it too. Throws Error for options that do not
// go together, for models and samplers that cannot be tempered, and for more rungs than fit into
// memory.
std::unique_ptr<ParallelTempering> tempering_of(const SampleSpec& spec, EnergyModel& model,
                                                const RunPlan& plan, const Context& context,
                                                bool warm,
                                                const std::optional<DistanceLimit>& limit = {});

// Returns the scans of burn-in that precede this many scans of an evaluation.
constexpr int64_t tempered_burn_in(int64_t scans) {
  return (scans + 1) / 2;
}

// Returns the tempering of an evaluation with this many scans after burn-in, along the spec's path
// from the given start. Throws Error as above.
std::unique_ptr<ParallelTempering> tempering_of(const EvaluateSpec& spec, int64_t scans,
                                                EnergyModel& model, const Factorised& start,
                                                const Context& context);

// Returns the tempering of a bench, on equally spaced β. Throws Error for what cannot be tempered.
std::unique_ptr<ParallelTempering> tempering_of(const BenchSpec& spec, EnergyModel& model,
                                                torch::Device device);

// Returns {betas, rejection, barrier, …}, documented in docs/reference/files.md.
nlohmann::ordered_json tempering_json(const TemperingReport& report, int64_t exploration);

}  // namespace isinglass
