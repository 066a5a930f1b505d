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
#include "engine/run/run.h"

namespace isinglass {

// Acceptance and hops a step, for every draw and chain.
class StepRecorder : public Observer {
 public:
  explicit StepRecorder(const RunPlan& plan);

  void on_step(int64_t step, bool burn_in, const ChainState& state) override;
  void on_draw(int64_t draw, const ChainState& state) override;

  torch::Tensor acceptance() const {
    return acceptance_.narrow(0, 0, made_);
  }                                                                 // float64 [draws, chains]
  torch::Tensor hops() const { return hops_.narrow(0, 0, made_); }  // float64 [draws, chains]

 private:
  RunPlan plan_;
  torch::Tensor steps_acceptance_, steps_hops_;  // float64 [chains]: sums since the last draw
  torch::Tensor acceptance_, hops_;
  int64_t made_ = 0;
};

// The summary names model, sampler, seed and version. The recorder has a draw at least.
void write_inference_data(const std::filesystem::path& file, const Recorder& recorder,
                          const StepRecorder& moves, const nlohmann::ordered_json& summary);

}  // namespace isinglass
