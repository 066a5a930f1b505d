// samples.nc: the draws of a run as ArviZ's InferenceData ("InferenceData schema specification"), a
// NetCDF file of two groups. With [chain, draw] first:
//
//   posterior     x [chain, draw, site]
//   sample_stats  energy, acceptance and hops [chain, draw]: of the draw's state; of the steps that
//                 led to it from the draw before, on average
//
// Attributes of both and of the file: inference_library, inference_library_version, model, sampler,
// seed.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/observers/recorder.h"
#include "engine/observers/step_recorder.h"

namespace isinglass {

// The summary names model, sampler, seed and version. The recorder has a draw at least.
void write_inference_data(const std::filesystem::path& file, const Recorder& recorder,
                          const StepRecorder& moves, const nlohmann::ordered_json& summary);

}  // namespace isinglass
