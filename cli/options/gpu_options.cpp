// --cuda-graph; see shared_options.h.
#include "cli/options/shared_options.h"
#include "io/error.h"

namespace isinglass {

Option cuda_graph_option() {
  return {.name = "cuda-graph",
          .type = ValueType::kSwitch,
          .help =
              "on a GPU, capture a sampler's step in a CUDA graph once and replay it; new, and "
              "not measured yet",
          .initial = false,
          .adjustable = true};
}

bool cuda_graph_of(const Options& options, const EnergyModel& model, const Sampler& sampler,
                   torch::Device device) {
  if (!options.flag("cuda-graph")) return false;
  require(
      !sampler.asks_device(),
      "--cuda-graph: a step of {} waits for a number that the GPU finds, and cannot be captured",
      options.text("sampler"));
  require(model.capturable(), "--cuda-graph: calls of model {} cannot be captured",
          model.kind_name());
  require(device.is_cuda(), "--cuda-graph captures steps on a GPU, and the device is {}",
          device.str());
  return true;
}

}  // namespace isinglass
