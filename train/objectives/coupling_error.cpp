// Implements the RMSE of learned couplings over the union of both models' pairs.
#include "train/objectives/coupling_error.h"

#include <cmath>

#include "io/error.h"

namespace isinglass {
namespace {

// Encodes the unordered pair that each edge joins as one number, int64 [E].
torch::Tensor pair_numbers(const IsingModel& model) {
  const torch::Tensor ends = model.edges().to(torch::kCPU, torch::kInt64);
  return std::get<0>(ends.min(1)) * model.space().sites + std::get<0>(ends.max(1));
}

}  // namespace

CouplingError::CouplingError(const IsingModel& learned, const IsingModel& truth)
    : learned_(learned), sites_(learned.space().sites) {
  TORCH_INTERNAL_ASSERT(truth.space().sites == sites_);
  const torch::Tensor own = pair_numbers(learned), other = pair_numbers(truth);
  const auto [pairs, place, counts] = at::_unique2(torch::cat({own, other}), true, true);
  const torch::Device device = learned.coupling().device();
  pair_ = place.narrow(0, 0, own.size(0)).to(device);
  truth_ = torch::zeros({pairs.size(0)}, torch::kFloat64)
               .index_add(0, place.narrow(0, own.size(0), other.size(0)),
                          truth.coupling().detach().to(torch::kCPU))
               .to(device);
}

torch::Tensor CouplingError::rmse() const {
  const torch::Tensor error =
      (-truth_).index_add(0, pair_, learned_.coupling().detach().to(torch::kFloat64));
  return (error.square().sum() / 2).sqrt() / static_cast<double>(sites_);
}

}  // namespace isinglass
