// A run's sampler as parallel tempering (engine/tempering/parallel_tempering.h): `rungs` of a spec,
// and what the summary says of them.
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

// Chains of the spec (which must be known) count ensembles. Throws Error for options that do not go
// together, what cannot be tempered, and more rungs than fit into memory.
std::unique_ptr<ParallelTempering> tempering_of(const SampleSpec& spec, EnergyModel& model,
                                                const RunPlan& plan, const Context& context,
                                                bool warm);

// The scans of burn-in before so many of an evaluation.
constexpr int64_t tempered_burn_in(int64_t scans) {
  return (scans + 1) / 2;
}

// Of an evaluation of so many scans after burn-in, along the spec's path from the given start. Throws
// Error as above.
std::unique_ptr<ParallelTempering> tempering_of(const EvaluateSpec& spec, int64_t scans,
                                                EnergyModel& model, const Factorised& start,
                                                const Context& context);

// Of a bench, on equal steps of β. Throws Error for what cannot be tempered.
std::unique_ptr<ParallelTempering> tempering_of(const BenchSpec& spec, EnergyModel& model,
                                                torch::Device device);

// {betas, rejection, barrier, …}: docs/reference/files.md.
nlohmann::ordered_json tempering_json(const TemperingReport& report, int64_t exploration);

}  // namespace isinglass
