// Implements the linear and the joint path.
#include "engine/annealing/path.h"

#include "engine/annealing/tempered_model.h"
#include "io/error.h"
#include "models/network/annealed_rbm.h"

namespace isinglass {
namespace {

// A change of β needs no model call, because the parts U_0 and U of the energy are kept.
class LinearPath : public AnnealingPath {
 public:
  LinearPath(EnergyModel& model, const Factorised& start, torch::Device device)
      : start_(start), model_(model, &start, device) {}

  EnergyModel& model() override { return model_; }
  double log_z_start() const override { return start_.log_z(); }
  torch::Tensor sample(const torch::Tensor& chain_ids, uint64_t seed) const override {
    return start_.sample(chain_ids, seed);
  }

  void turn_back(bool back) override { model_.turn_back(back); }

  void set_beta(double beta, const torch::Tensor&, Evaluation& current) override {
    beta_ = beta;
    model_.set_beta(beta);
    if (current.energy.defined()) model_.recombine(current);
  }

  const torch::Tensor& advance(double beta, const torch::Tensor& x, Evaluation& current) override {
    log_weight_increment_ = model_.slope(current).mul_(beta - beta_);
    set_beta(beta, x, current);
    return log_weight_increment_;
  }

 private:
  const Factorised& start_;
  TemperedModel model_;
  double beta_ = 0;
  torch::Tensor log_weight_increment_;
};

// A change of β recomputes the free energies from the hidden inputs, which are kept.
class JointPath : public AnnealingPath {
 public:
  JointPath(RbmModel& rbm, const Factorised& start, torch::Device device)
      : start_(start), model_(rbm, start.logits(), device) {}

  EnergyModel& model() override { return model_; }
  double log_z_start() const override { return model_.log_z_start(); }
  // At β = 0 the sites do not depend on the hidden units.
  torch::Tensor sample(const torch::Tensor& chain_ids, uint64_t seed) const override {
    return start_.sample(chain_ids, seed);
  }

  void set_beta(double beta, const torch::Tensor& x, Evaluation& current) override {
    model_.set_beta(beta);
    if (current.energy.defined()) model_.recombine(x, current);
  }

  const torch::Tensor& advance(double beta, const torch::Tensor& x, Evaluation& current) override {
    if (!log_weight_increment_.defined() ||
        log_weight_increment_.sizes() != current.energy.sizes()) {
      log_weight_increment_ = torch::empty_like(current.energy);
    }
    log_weight_increment_.copy_(current.energy);
    set_beta(beta, x, current);
    return log_weight_increment_.sub_(current.energy);
  }

 private:
  const Factorised& start_;
  AnnealedRbm model_;
  torch::Tensor log_weight_increment_;
};

}  // namespace

RbmModel& rbm_of_joint_path(EnergyModel& model) {
  auto* rbm = dynamic_cast<RbmModel*>(&model);
  require_options(rbm, "`path` joint scales the weights of an rbm, but {} is not an rbm",
                  model.title());
  return *rbm;
}

std::unique_ptr<AnnealingPath> make_path(PathKind kind, EnergyModel& model, const Factorised& start,
                                         torch::Device device) {
  if (kind == PathKind::kLinear) return std::make_unique<LinearPath>(model, start, device);
  return std::make_unique<JointPath>(rbm_of_joint_path(model), start, device);
}

}  // namespace isinglass
