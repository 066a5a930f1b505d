// Implements the parity's energy and flip differences.
#include "models/density/parity.h"

#include "io/error.h"
#include "models/parameter_file.h"
#include "models/registry.h"

namespace isinglass {

ParityModel::ParityModel(const torch::Tensor& u, int64_t sites)
    : u_(register_buffer("u", u.to(torch::kFloat64))), sites_(sites) {}

torch::Tensor ParityModel::energy(const torch::Tensor& x) {
  return u_ * x.sum(1, false, torch::kFloat64).remainder(2);
}

// Computes the differences. A flip turns parity b into 1 − b: Δ = u·b − u·(1 − b) at every site.
void ParityModel::evaluate_differences(const torch::Tensor& x, Evaluation& out) {
  torch::NoGradGuard no_grad;
  evaluate_energy(x, out);
  const torch::Tensor difference = (2 * out.energy - u_).to(torch::kFloat32);
  store(out.differences, difference.unsqueeze(1).expand(x.sizes()).contiguous());
}

namespace {

std::shared_ptr<EnergyModel> load_parity(const ModelOptions& options) {
  require_options(options.sites.has_value(),
                  "model parity needs `sites` D, because its parameters do not determine it");
  ParameterReader reader = options.reader();
  const torch::Tensor u = reader.real("u", {});
  reader.finish();
  return std::make_shared<ParityModel>(u, *options.sites);
}

}  // namespace

std::vector<ModelEntry> parity_models() {
  return {{"parity", "u (sum_i x_i mod 2)", "u []; and `sites` D", "binary", false, load_parity}};
}

}  // namespace isinglass
