// Implements the starting distribution of annealing.
#include "engine/annealing/factorised.h"

#include <cmath>
#include <numbers>

#include "engine/run/base_draws.h"
#include "io/error.h"
#include "io/sha256.h"
#include "kernels/ops/random.h"
#include "models/combined/bounded.h"
#include "models/conditional/within.h"
#include "models/density/gaussian.h"
#include "models/identity.h"
#include "models/lattice/bernoulli.h"
#include "models/lattice/categorical.h"

namespace isinglass {

Factorised Factorised::bernoulli(const torch::Tensor& mean) {
  require(
      mean.dim() == 1 && ((mean > 0) & (mean < 1)).all().item<bool>(),
      "the mean of the starting distribution must be a vector of numbers strictly between 0 and 1");
  Factorised start;
  start.mean_ = mean.to(torch::kFloat32).contiguous();
  // The energy uses the rounded mean, which is also the mean of the draws.
  const torch::Tensor theta = -torch::logit(start.mean_.to(torch::kFloat64));
  start.model_ = std::make_shared<BernoulliModel>(theta);
  start.log_z_ = torch::softplus(-theta).sum().item<double>();
  return start;
}

Factorised Factorised::categorical(const torch::Tensor& p) {
  constexpr double kRounding = 1e-3;
  const torch::Tensor given = p.to(torch::kFloat64), total = given.sum(-1, /*keepdim=*/true);
  require(
      p.dim() == 2 && p.size(1) >= 2 && (given > 0).all().item<bool>() &&
          ((total - 1).abs() < kRounding).all().item<bool>(),
      "the frequencies of the starting distribution must be positive, and sum to 1 at every site");
  Factorised start;
  start.mean_ = (given / total).contiguous();
  start.model_ = std::make_shared<CategoricalModel>(-torch::log(given));
  start.log_z_ = torch::log(total).sum().item<double>();
  return start;
}

Factorised Factorised::uniform(const StateSpace& space, torch::Device device) {
  require(space.kind == StateKind::kBinary || space.kind == StateKind::kCategorical,
          "annealing from independent uniform sites requires binary or categorical sites, but the "
          "model's states are of another kind");
  Factorised start;
  const auto real = torch::TensorOptions(torch::kFloat64).device(device);
  if (space.kind == StateKind::kBinary) {
    start.model_ = std::make_shared<BernoulliModel>(torch::zeros({space.sites}, real));
  } else {
    start.model_ =
        std::make_shared<CategoricalModel>(torch::zeros({space.sites, space.categories}, real));
  }
  start.log_z_ = static_cast<double>(space.sites) * std::log(static_cast<double>(space.categories));
  return start;
}

Factorised Factorised::normal(int64_t sites, double scale, torch::Device device) {
  require(scale > 0 && std::isfinite(scale),
          "the standard deviation of the starting distribution is {}; it must be above 0", scale);
  Factorised start;
  const auto real = torch::TensorOptions(torch::kFloat64).device(device);
  start.model_ = std::make_shared<GaussianModel>(torch::zeros({sites}, real),
                                                 torch::full({sites}, 1 / (scale * scale), real));
  start.scale_ = scale;
  start.log_z_ = static_cast<double>(sites) * std::log(scale * std::sqrt(2 * std::numbers::pi));
  return start;
}

Factorised Factorised::box(int64_t sites, const Bounds& bounds, torch::Device device) {
  Factorised start;
  const torch::Tensor zeros =
      torch::zeros({sites}, torch::TensorOptions(torch::kFloat64).device(device));
  start.model_ =
      std::make_shared<BoundedModel>(std::make_shared<GaussianModel>(zeros, zeros), bounds);
  start.bounds_ = bounds;
  start.log_z_ = static_cast<double>(sites) * std::log(bounds.high - bounds.low);
  return start;
}

Factorised Factorised::base(EnergyModel& base, double log_z) {
  Factorised start;
  start.model_ = std::shared_ptr<EnergyModel>(std::shared_ptr<void>(), &base);
  start.base_ = true;
  start.log_z_ = log_z;
  return start;
}

Factorised Factorised::within(const DistanceLimit& limit) const {
  require(independent() && scale_ == 0 && !bounds_,
          "changes of a reference state are limited for a starting distribution of independent "
          "binary or categorical sites only");
  const torch::Tensor logit = logits();
  const torch::Tensor p = model_->space().kind == StateKind::kBinary
                              ? torch::stack({torch::sigmoid(-logit), torch::sigmoid(logit)}, 1)
                              : torch::softmax(logit, 1);
  FewChanges few = few_changes(p, limit);
  Factorised start = *this;
  start.model_ = std::make_shared<WithinModel>(model_, limit);
  const bool one_row = limit.most.size(0) == 1;
  start.log_z_ = one_row ? log_z_ + few.log_probability.item<double>() : NAN;
  start.few_ = std::make_shared<ops::LimitedSiteTensors>(std::move(few.sites));
  return start;
}

torch::Tensor Factorised::logits() const {
  TORCH_CHECK(independent(), "logits are those of independent sites");
  return -model_->named_buffers()["theta"];
}

std::string Factorised::sha256() const {
  NamedTensors given;
  if (mean_.defined()) given.emplace_back("mean", mean_.to(torch::kFloat32));
  if (few_) {
    given.emplace_back("differs", few_->differs.to(torch::kUInt8));
    given.emplace_back("within", few_->most);
  }
  return given.empty() ? parameters_sha256(*model_) : isinglass::sha256(std::move(given));
}

torch::Tensor Factorised::sample(const torch::Tensor& chain_ids, uint64_t seed) const {
  if (base_) return base_draws(*model_, chain_ids, seed);
  const StateSpace space = model_->space();
  torch::Tensor x =
      torch::empty({chain_ids.size(0), space.sites}, chain_ids.options().dtype(space.dtype()));
  const auto key = static_cast<int64_t>(seed);
  if (few_) {
    ops::limited_rows(*few_, chain_ids, key, 0, Purpose::kInitialState, x);
  } else if (scale_ > 0) {
    ops::normal_rows(chain_ids, key, 0, Purpose::kInitialState, x);
    x.mul_(scale_);
  } else if (bounds_) {
    ops::normal_rows(chain_ids, key, 0, Purpose::kInitialState, x);
    make_uniform(*bounds_, x);
  } else if (mean_.defined()) {
    ops::site_rows(mean_, chain_ids, key, 0, Purpose::kInitialState, x);
  } else {
    ops::uniform_rows(space.categories, chain_ids, key, 0, Purpose::kInitialState, x);
  }
  return x;
}

void Factorised::draw(const torch::Tensor& rng, const torch::Tensor& chain_ids,
                      torch::Tensor& x) const {
  if (few_) return ops::step_limited_rows(*few_, rng, chain_ids, Purpose::kReference, x);
  if (scale_ > 0) {
    ops::step_normal_rows(rng, chain_ids, Purpose::kReference, x);
    x.mul_(scale_);
    return;
  }
  if (bounds_) {
    ops::step_normal_rows(rng, chain_ids, Purpose::kReference, x);
    make_uniform(*bounds_, x);
    return;
  }
  ops::step_sites(mean_, model_->space().categories, rng, chain_ids, Purpose::kReference, x);
}

double Factorised::mean_log_likelihood(const torch::Tensor& x) const {
  if (x.size(0) == 0) return NAN;
  Evaluation at;
  model_->evaluate_energy(x, at);
  return -at.energy.mean().item<double>() - log_z_;
}

}  // namespace isinglass
