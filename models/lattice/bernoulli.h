// Independent binary sites: U(x) = Σ_i θ_i x_i for states x [B, D], x_i ∈ {0, 1}. Parameter file:
// theta [D].
#pragma once

#include "models/exact_samples.h"
#include "models/lattice/lattice_model.h"

namespace isinglass {

class BernoulliModel : public LatticeModel, public HasExactSamples {
 public:
  explicit BernoulliModel(const torch::Tensor& theta);  // floating [D]

  std::string kind_name() const override { return "bernoulli"; }
  StateSpace space() const override { return {StateKind::kBinary, theta_.size(0), 2}; }
  torch::Tensor energy(const torch::Tensor& x) override;
  torch::Tensor exact_samples(const torch::Tensor& chain_ids, uint64_t seed) const override;

 protected:
  ops::LatticeTensors make_lattice() const override;

 private:
  torch::Tensor theta_;  // float64 [D]
};

}  // namespace isinglass
