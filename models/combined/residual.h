// Residual EBM: a network that corrects a base, a model of the same states whose log Z is known
// (docs/concepts/residual.md; Deng, Bakhtin, Ott, Szlam & Ranzato 2020, "Residual energy-based
// models for text generation"):
//
//   U(x) = U_base(x) + g(x),  g = c·tanh(f(x)/c),  or g = f without a bound (c = 0)
//   ∇U   = ∇U_base + (1 − (g/c)²) ∇f
//
// f is the energy of the network. With a bound, π ≤ e^{2c} π_base everywhere.
//
// State dict: that of the network; that of the base, under `base.`; and under `residual.` the kinds
// of both ("resnet rbm", as bytes), bound (c) [], log_z (log Z of the base and its standard error;
// [1] if the error is not known, [0] if neither is) and base_sha256 (of the parameters of the base
// that the model was made with, as bytes).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "models/cached.h"
#include "models/energy_model.h"
#include "models/on_base.h"
#include "models/registry.h"

namespace isinglass {

struct KnownLogZ {
  double value = 0, standard_error = 0;  // an error of NaN is not known
};

// Returns what a tensor `residual.log_z` of one or two values holds.
KnownLogZ known_log_z(const torch::Tensor& stored);

// Returns log Z of a model of independent sites (bernoulli, categorical); nothing for other models.
std::optional<KnownLogZ> exact_log_z(const EnergyModel& model);

struct ResidualOptions {
  static constexpr double kDefaultBound = 16;

  double bound = kDefaultBound;         // c [nats]; 0: no bound
  std::optional<KnownLogZ> log_z = {};  // of the base; nullopt: by exact_log_z()
  std::string base_sha256 = {};         // empty: that of the base's present parameters
  // Makes the parameters of the base parameters of the model. Otherwise they are buffers, which
  // training leaves as they are.
  bool train_base = false;
};

class ResidualModel : public EnergyModel, public HasBase {
 public:
  // Throws Error unless both models have the same states and the bound is 0 or more.
  ResidualModel(std::shared_ptr<EnergyModel> base, std::shared_ptr<EnergyModel> network,
                const ResidualOptions& options);

  std::string kind_name() const override { return "residual"; }
  StateSpace space() const override { return base_->space(); }
  bool differentiable() const override {
    return base_->differentiable() && network_->differentiable();
  }
  torch::Tensor base_mean() const override { return base_->base_mean(); }
  FlopCounts flops() const override;
  bool capturable() const override { return base_->capturable() && network_->capturable(); }
  bool reads_parameters_in_place() const override;
  void set_gradient_precision(GradientPrecision precision) override {
    network_->set_gradient_precision(precision);
  }
  bool supports_bfloat16() const override { return network_->supports_bfloat16(); }
  torch::Tensor energy(const torch::Tensor& x) override;
  // Returns g, float64 [B], which is differentiable in the parameters of the network.
  torch::Tensor correction(const torch::Tensor& x);
  // Returns g, given f.
  torch::Tensor bounded(const torch::Tensor& f);
  void evaluate_energy(const torch::Tensor& x, Evaluation& out) override;
  void evaluate(const torch::Tensor& x, Evaluation& out) override;
  void evaluate_moved(const torch::Tensor& x, const Evaluation& at_x, const torch::Tensor& y,
                      bool gradient, Evaluation& out) override;

  EnergyModel* base() override { return base_.get(); }
  Evaluation base_in(const Evaluation& known) const override;
  void evaluate_on_base(const torch::Tensor& y, bool gradient, Evaluation& out) override;

  EnergyModel& network() const { return *network_; }
  EnergyModel& base_model() const { return *base_; }
  double bound();
  // Returns log Z of the base as it was when the model was made; nothing if it is not known.
  std::optional<KnownLogZ> base_log_z() const;

 private:
  // Returns U_base. Records no graph of the base's parameters unless they are trained.
  torch::Tensor base_energy(const torch::Tensor& x);
  // Completes an evaluation by the network's part, given the base's evaluation (with its gradient
  // if `gradient`).
  void add_network(const torch::Tensor& x, bool gradient, const Evaluation& base, Evaluation& out);

  std::shared_ptr<EnergyModel> base_, network_;
  bool trains_base_;
  torch::Tensor stored_bound_, stored_log_z_;
  Cached<double> bound_;
};

// Holds the options of a new residual model, which has a new network and an existing base.
struct NewResidualOptions {
  NamedFile base = {};  // a model of the registry and its parameter file
  double bound = ResidualOptions::kDefaultBound;
  std::optional<KnownLogZ> log_z = {};  // of the base; nullopt: by exact_log_z()
  std::string network = "resnet";       // or mlp
  bool linear_head = false;             // resnet: the last layer is linear in the last map
};

// Makes a residual model with new parameters of the network, which has the image size and the
// channels of `shape`. They are drawn as new_model() draws them. Throws Error if the base's file
// cannot be read, or if the base has other states than such images.
std::shared_ptr<ResidualModel> new_residual(const NewResidualOptions& options,
                                            const NewModelOptions& shape, uint64_t seed);

}  // namespace isinglass
