// The distribution that annealing starts from: independent sites, p(x) = Π_i p_i(x_i), with exact
// samples and an exact normaliser. As a model it is `bernoulli`, `categorical` or `gaussian`.
#pragma once

#include <memory>
#include <string>

#include "models/energy_model.h"

namespace isinglass {

class Factorised {
 public:
  // Bernoulli(mean), mean float [D] strictly inside (0, 1). Throws Error otherwise.
  static Factorised bernoulli(const torch::Tensor& mean);
  // Site i has value k with probability p[i, k]: float [D, K] of positive numbers that sum to about 1 at every site, which are
  // normalised. Throws Error otherwise.
  static Factorised categorical(const torch::Tensor& p);
  // Of the means [D] of binary sites or the frequencies [D, K] of categorical ones.
  static Factorised independent(const torch::Tensor& p) {
    return p.dim() == 2 ? categorical(p) : bernoulli(p);
  }
  // Uniform over the states of a binary or categorical space. Throws Error for any other.
  static Factorised uniform(const StateSpace& space, torch::Device device);
  // N(0, scale²) at every one of `sites` continuous sites; scale > 0.
  static Factorised normal(int64_t sites, double scale, torch::Device device);

  EnergyModel& model() const { return *model_; }
  double log_z() const { return log_z_; }
  bool uniform() const { return !mean_.defined() && scale_ == 0; }
  torch::Tensor logits() const;  // −θ: float64 [D], or [D, K] of categorical sites

  // SHA-256 of what it was made of, the same on every machine; logarithms differ in their last bits.
  std::string sha256() const;

  // Exact samples [N, D], uint8 or float32, by (seed, chain id).
  torch::Tensor sample(const torch::Tensor& chain_ids, uint64_t seed) const;

  // The same of a step, in place: by (seed, chain id, step number).
  void draw(const torch::Tensor& rng, const torch::Tensor& chain_ids, torch::Tensor& x) const;

  // Mean log p(x) over the rows of x [N, D], nats; NaN without rows.
  double mean_log_likelihood(const torch::Tensor& x) const;

 private:
  std::shared_ptr<EnergyModel> model_;
  torch::Tensor mean_;  // float32 [D] of bernoulli, float64 [D, K] of categorical
  double scale_ = 0;    // of normal
  double log_z_ = 0;
};

}  // namespace isinglass
