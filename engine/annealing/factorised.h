// The distribution that annealing starts from. It has one of three forms.
//   independent sites  p(x) = Π_i p_i(x_i), with exact draws and a known normaliser. The model is
//                      one of `bernoulli`, `categorical` and `gaussian`; within bounds it is a
//                      `gaussian` of precision 0
//   few changes        independent sites given that at most k of them differ from a reference, with
//                      exact draws and a known normaliser (few_changes.h). U is infinite at other
//                      states
//   a base             that of a residual model (models/on_base.h); its log Z is known or measured
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/annealing/few_changes.h"
#include "models/bounds.h"
#include "models/energy_model.h"

namespace isinglass {

class Factorised {
 public:
  // Returns Bernoulli(mean) for means float [D] strictly between 0 and 1. Throws Error for other
  // means.
  static Factorised bernoulli(const torch::Tensor& mean);
  // Returns the distribution in which site i has value k with probability p[i, k]. p is float [D,
  // K], positive, and sums to about 1 at every site; it is normalised. Throws Error for other p.
  static Factorised categorical(const torch::Tensor& p);
  // Chooses by the shape of p: means [D] of binary sites, or frequencies [D, K] of categorical
  // sites.
  static Factorised independent(const torch::Tensor& p) {
    return p.dim() == 2 ? categorical(p) : bernoulli(p);
  }
  // Returns the uniform distribution over the states of a binary or categorical space. Throws Error
  // for any other space.
  static Factorised uniform(const StateSpace& space, torch::Device device);
  // Returns the uniform distribution of `sites` continuous sites within bounds.
  static Factorised box(int64_t sites, const Bounds& bounds, torch::Device device);
  // Returns N(0, scale²) at every one of `sites` continuous sites; scale > 0.
  static Factorised normal(int64_t sites, double scale, torch::Device device);

  // Returns the distribution of a base, which must outlive it. log_z is NaN if it is not known.
  static Factorised base(EnergyModel& base, double log_z);

  // Returns these independent binary or categorical sites given that at most so many of them differ
  // from a reference. The limit is on the device of the sites. If it has several rows, draws are
  // for a multiple of as many chains, and log_z() is NaN. Throws Error for other distributions.
  Factorised within(const DistanceLimit& limit) const;

  EnergyModel& model() const { return *model_; }
  bool independent() const { return !base_ && !few_; }
  bool limited() const { return few_ != nullptr; }
  bool has_draws() const { return !base_; }  // of draw()
  double log_z() const { return log_z_; }
  bool uniform() const { return independent() && !mean_.defined() && scale_ == 0; }
  // Returns −θ of independent sites: float64 [D], or [D, K] of categorical sites.
  torch::Tensor logits() const;

  // Returns a SHA-256 hash of the parameters that the distribution was made from. It is the same on
  // every machine, while the logarithms in the model may differ in their last bits.
  std::string sha256() const;

  // Returns exact draws [N, D], uint8 or float32, which depend on (seed, chain id). A base gives
  // base_draws() (engine/run/base_draws.h).
  torch::Tensor sample(const torch::Tensor& chain_ids, uint64_t seed) const;

  // Makes exact draws within a step, in place, which depend on (seed, chain id, step number). A
  // base has none.
  void draw(const torch::Tensor& rng, const torch::Tensor& chain_ids, torch::Tensor& x) const;

  // Returns the mean of log p(x) over the rows of x [N, D], in nats; NaN if there are no rows.
  double mean_log_likelihood(const torch::Tensor& x) const;

 private:
  std::shared_ptr<EnergyModel> model_;
  torch::Tensor mean_;            // float32 [D] for bernoulli, float64 [D, K] for categorical
  double scale_ = 0;              // the standard deviation of normal()
  std::optional<Bounds> bounds_;  // of box()
  std::shared_ptr<const ops::LimitedSiteTensors> few_;  // null: not limited
  bool base_ = false;
  double log_z_ = 0;
};

}  // namespace isinglass
