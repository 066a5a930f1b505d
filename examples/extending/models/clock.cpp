// Implements the clock model; the gradient is computed by autograd.
#include "models/clock.h"

#include <cmath>

#include "io/error.h"
#include "models/parameter_file.h"
#include "models/registry.h"

namespace isinglass {

ClockModel::ClockModel(const torch::Tensor& coupling, int64_t categories)
    : coupling_(register_buffer("coupling", coupling.to(torch::kFloat64))) {
  const torch::Tensor k = torch::arange(categories, torch::kFloat64);
  const torch::Tensor turns = (k.unsqueeze(1) - k) / static_cast<double>(categories);
  alignment_ = register_buffer("alignment", torch::cos(2 * M_PI * turns));
}

torch::Tensor ClockModel::energy(const torch::Tensor& x) {
  const torch::Tensor one_hot = relaxed(x).to(torch::kFloat64);  // [B, D, K]
  const torch::Tensor next = one_hot.roll(-1, 1);
  return -(one_hot.matmul(alignment_) * next).sum(-1).matmul(coupling_);
}

namespace {

std::shared_ptr<EnergyModel> load_clock(const ModelOptions& options) {
  const int64_t categories = needed_categories(options, "clock");
  ParameterReader reader(options.weights);
  const torch::Tensor coupling = reader.real("coupling", {-1});
  reader.finish();
  return std::make_shared<ClockModel>(coupling, categories);
}

}  // namespace

std::vector<ModelEntry> clock_models() {
  return {{"clock", "-sum_i J_i cos(2 pi (x_i - x_{i+1}) / K)", "coupling [D]; and --categories K",
           "categorical", /*gradient=*/true, load_clock}};
}

}  // namespace isinglass
