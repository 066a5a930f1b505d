// Writes samples.nc: the draws of a run as ArviZ's InferenceData ("InferenceData schema
// specification"), a NetCDF file of two groups whose first dimensions are [chain, draw]:
//
//   posterior     x [chain, draw, site]
//   sample_stats  energy, acceptance and hops [chain, draw]: the energy of the draw's state; the
//                 mean acceptance and number of changed sites of the steps since the draw before
//
// Both groups and the file have the attributes inference_library, inference_library_version, model,
// sampler and seed.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/observers/recorder.h"
#include "engine/observers/step_recorder.h"

namespace isinglass {

// Writes the file. The summary names model, sampler, seed and version. The recorder must have at
// least one draw.
void write_inference_data(const std::filesystem::path& file, const Recorder& recorder,
                          const StepRecorder& moves, const nlohmann::ordered_json& summary);

}  // namespace isinglass
