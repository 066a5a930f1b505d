// Implements the RBM on its annealing path.
#include "models/network/annealed_rbm.h"

#include <cmath>

namespace isinglass {

AnnealedRbm::AnnealedRbm(RbmModel& rbm, const torch::Tensor& logits, torch::Device device,
                         int64_t betas)
    : rbm_(rbm),
      path_{torch::zeros({betas}, torch::TensorOptions(torch::kFloat64).device(device)),
            logits.to(device, torch::kFloat32).contiguous()} {
  TORCH_CHECK(logits.sizes() == rbm.visible_biases().sizes(),
              "there must be one logit for each visible bias of the RBM");
}

torch::Tensor AnnealedRbm::energy(const torch::Tensor& x) {
  const torch::Tensor v = relaxed(x).flatten(1), inputs = rbm_.hidden_inputs(v).to(torch::kFloat64);
  const torch::Tensor beta = path_.beta.unsqueeze(1);
  const torch::Tensor biases = torch::lerp(path_.logits.flatten().to(torch::kFloat64),
                                           rbm_.visible_biases().flatten().to(torch::kFloat64),
                                           beta);  // [1 or B, D·K]
  return -(v * biases).sum(1) - torch::softplus(beta * inputs).sum(1);
}

void AnnealedRbm::evaluate_energy(const torch::Tensor& x, Evaluation& out) {
  rbm_.evaluate_energy(x, out);
  recombine(x, out);
}

void AnnealedRbm::recombine(const torch::Tensor& x, Evaluation& current) const {
  ops::free_energies(rbm_.visible_biases(), path_, x, current.cache.at(0), current.energy);
}

void AnnealedRbm::energies_at_adjacent_rungs(const torch::Tensor& rung_beta,
                                             const MeasuredPairs& measured,
                                             const torch::Tensor& rng, const torch::Tensor& x,
                                             const Evaluation& current,
                                             ops::RungChainTensors& at) const {
  ops::energies_at_adjacent_rungs(rbm_.visible_biases(), path_.logits, rung_beta, measured, rng, x,
                                  current.cache.at(0), at);
}

int64_t AnnealedRbm::gibbs_sweeps(int64_t steps, const torch::Tensor& rng,
                                  const torch::Tensor& chain_ids, torch::Tensor& x,
                                  Evaluation& current, ops::StepBuffers& counts) {
  return rbm_.sweep(steps, rng, chain_ids, x, current.cache.at(0),
                    energies_ ? current.energy : torch::Tensor(), counts, path_);
}

double AnnealedRbm::log_z_start() const {
  const torch::Tensor logits = path_.logits.to(torch::kFloat64);
  const torch::Tensor sites =
      logits.dim() == 1 ? torch::softplus(logits) : torch::logsumexp(logits, 1);
  return sites.sum().item<double>() + static_cast<double>(rbm_.hidden()) * std::log(2.0);
}

}  // namespace isinglass
