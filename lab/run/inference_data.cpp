// See inference_data.h.
#include "lab/run/inference_data.h"

#include "io/netcdf/netcdf_file.h"

namespace isinglass {

StepRecorder::StepRecorder(const RunPlan& plan) : plan_(plan) {}

void StepRecorder::on_step(int64_t, bool burn_in, const ChainState& state) {
  if (burn_in) return;
  if (!steps_acceptance_.defined()) {
    steps_acceptance_ = torch::zeros_like(state.statistics.acceptance);
    steps_hops_ = torch::zeros_like(steps_acceptance_);
    acceptance_ = torch::empty({plan_.steps / plan_.thin, state.chains()}, torch::kFloat64);
    hops_ = torch::empty_like(acceptance_);
  }
  steps_acceptance_.add_(state.statistics.acceptance);
  steps_hops_.add_(state.statistics.hops);
}

void StepRecorder::on_draw(int64_t draw, const ChainState&) {
  const double steps = static_cast<double>(plan_.thin);
  acceptance_[draw].copy_(steps_acceptance_.div_(steps));
  hops_[draw].copy_(steps_hops_.div_(steps));
  steps_acceptance_.zero_();
  steps_hops_.zero_();
  made_ = draw + 1;
}

void write_inference_data(const std::filesystem::path& file, const Recorder& recorder,
                          const StepRecorder& moves, const nlohmann::ordered_json& summary) {
  const std::vector<std::string> draws = {"chain", "draw"};
  const std::vector<NetcdfGroup> groups = {
      {"posterior", {{"x", {"chain", "draw", "site"}, recorder.samples()}}},
      {"sample_stats",
       {{"energy", draws, recorder.energy()},
        {"acceptance", draws, moves.acceptance()},
        {"hops", draws, moves.hops()}}}};
  write_netcdf(file, groups,
               {{"inference_library", "isinglass"},
                {"inference_library_version", summary["version"].get<std::string>()},
                {"model", summary["model"].get<std::string>()},
                {"sampler", summary["sampler"].get<std::string>()},
                {"seed", summary["seed"].get<int64_t>()}});
}

}  // namespace isinglass
