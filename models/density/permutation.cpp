// Implements the assignment energy and its swap differences.
#include "models/density/permutation.h"

#include "io/error.h"
#include "models/parameter_file.h"
#include "models/registry.h"

namespace isinglass {

PermutationModel::PermutationModel(const torch::Tensor& w)
    : w_(register_buffer("w", w.to(torch::kFloat64))) {}

torch::Tensor PermutationModel::energy(const torch::Tensor& x) {
  return w_.expand({x.size(0), -1, -1}).gather(2, x.unsqueeze(2)).sum({1, 2});
}

// Computes the differences of swapping i and j: Δ_ij = w_{i,ρi} + w_{j,ρj} − w_{i,ρj} − w_{j,ρi}.
void PermutationModel::evaluate_differences(const torch::Tensor& x, Evaluation& out) {
  torch::NoGradGuard no_grad;
  const int64_t sites = space().sites;
  if (!swap_.defined() || swap_.device() != x.device()) {
    swap_ = torch::triu_indices(sites, sites, 1, x.options());
  }
  // The matrix of costs is cost[b, i, j] = w_{i, ρ_b(j)}.
  const torch::Tensor cost = w_.expand({x.size(0), sites, sites})
                                 .gather(2, x.unsqueeze(1).expand({x.size(0), sites, sites}));
  const torch::Tensor own = cost.diagonal(0, 1, 2);
  store(out.energy, own.sum(1));
  const torch::Tensor swapped = cost + cost.transpose(1, 2);
  const torch::Tensor all = own.unsqueeze(2) + own.unsqueeze(1) - swapped;
  store(out.differences,
        all.flatten(1).index_select(1, swap_[0] * sites + swap_[1]).to(torch::kFloat32));
}

namespace {

std::shared_ptr<EnergyModel> load_permutation(const ModelOptions& options) {
  ParameterReader reader = options.reader();
  const torch::Tensor w = reader.real("w", {-1, -1});
  reader.finish();
  require(w.size(0) == w.size(1) && w.size(0) >= 2,
          "{}: tensor 'w' has shape [{}, {}]; it must be square, 2 x 2 or larger", reader.source(),
          w.size(0), w.size(1));
  return std::make_shared<PermutationModel>(w);
}

}  // namespace

std::vector<ModelEntry> permutation_models() {
  return {{"permutation", "sum_i w_{i,rho(i)}", "w [p,p]", "permutation", false, load_permutation}};
}

}  // namespace isinglass
