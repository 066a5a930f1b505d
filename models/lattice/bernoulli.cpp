// Implements independent binary sites as a lattice without edges, and their exact samples.
#include "models/lattice/bernoulli.h"

#include "kernels/ops/random.h"
#include "models/parameter_file.h"
#include "models/registry.h"

namespace isinglass {

BernoulliModel::BernoulliModel(const torch::Tensor& theta)
    : theta_(register_buffer("theta", theta.to(torch::kFloat64))) {}

torch::Tensor BernoulliModel::energy(const torch::Tensor& x) {
  return relaxed(x).to(torch::kFloat64).matmul(theta_);
}

ops::LatticeTensors BernoulliModel::make_lattice() const {
  return lattice_without_edges(torch::stack({torch::zeros_like(theta_), theta_}, 1));
}

torch::Tensor BernoulliModel::exact_samples(const torch::Tensor& chain_ids, uint64_t seed) const {
  torch::Tensor x =
      torch::empty({chain_ids.size(0), theta_.size(0)}, chain_ids.options().dtype(torch::kUInt8));
  ops::bernoulli_rows(torch::sigmoid(-theta_).to(torch::kFloat32), chain_ids,
                      static_cast<int64_t>(seed), 0, Purpose::kInitialState, x);
  return x;
}

namespace {

std::shared_ptr<EnergyModel> load_bernoulli(const ModelOptions& options) {
  ParameterReader reader = options.reader();
  const torch::Tensor theta = reader.real("theta", {-1});
  reader.finish();
  return std::make_shared<BernoulliModel>(theta);
}

}  // namespace

std::vector<ModelEntry> bernoulli_models() {
  return {{"bernoulli", "sum_i theta_i x_i", "theta [D]", "binary", true, load_bernoulli}};
}

}  // namespace isinglass
