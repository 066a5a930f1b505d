// Implements the file of InferenceData.
#include "lab/run/inference_data.h"

#include "io/netcdf/netcdf_file.h"

namespace isinglass {

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
