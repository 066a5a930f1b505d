// A model whose states differ from a reference state at k sites at most (a Hamming ball): U is
// infinite outside. Chains at the boundary have gradients and differences that exclude the moves
// which would leave the ball (of ordered sites the differences alone); other moves that leave it
// are rejected.
#pragma once

#include <memory>
#include <string>

#include "models/conditional/distance_limit.h"
#include "models/energy_model.h"

namespace isinglass {

class WithinModel : public EnergyModel, public HasConditionals, public HasEnergyDifferences {
 public:
  // reference: states [D], for all chains, or [N, D], where each row holds for as many consecutive
  // chains. most: k ≥ 1. The sites are binary, categorical or ordered.
  WithinModel(std::shared_ptr<EnergyModel> joint, const torch::Tensor& reference, int64_t most);
  // The states of `joint` are those that the limit counts changes of.
  WithinModel(std::shared_ptr<EnergyModel> joint, const DistanceLimit& limit);

  std::string kind_name() const override { return joint_->kind_name(); }
  std::string title() const override { return joint_->title() + " near a reference state"; }
  StateSpace space() const override { return joint_->space(); }
  bool differentiable() const override { return joint_->differentiable(); }
  torch::Tensor base_mean() const override { return joint_->base_mean(); }
  FlopCounts flops() const override { return joint_->flops(); }
  bool capturable() const override { return joint_->capturable(); }
  bool reads_parameters_in_place() const override { return joint_->reads_parameters_in_place(); }
  void set_gradient_precision(GradientPrecision precision) override {
    joint_->set_gradient_precision(precision);
  }
  bool supports_bfloat16() const override { return joint_->supports_bfloat16(); }

  torch::Tensor energy(const torch::Tensor& x) override;
  void evaluate_energy(const torch::Tensor& x, Evaluation& out) override;
  void evaluate(const torch::Tensor& x, Evaluation& out) override;

  HasConditionals* conditionals() override { return joint_->conditionals() ? this : nullptr; }
  void conditional_differences(const torch::Tensor& x, const torch::Tensor& site,
                               torch::Tensor& out) override;
  void update_after_move(const torch::Tensor& x, Evaluation& current) override {
    joint_->conditionals()->update_after_move(x, current);
  }
  // Where the joint model has no exact differences and chains differ in their reference, neighbours
  // are evaluated by differences_in_turn().
  HasEnergyDifferences* exact_differences() override {
    const int64_t rows = (reference_.defined() ? reference_ : differs_).size(0);
    return joint_->exact_differences() || rows > 1 ? this : nullptr;
  }
  void evaluate_differences(const torch::Tensor& x, Evaluation& out) override;
  int64_t difference_calls() const override {
    HasEnergyDifferences* exact = joint_->exact_differences();
    return exact ? exact->difference_calls() : 1 + space().neighbours();
  }

 private:
  torch::Tensor for_chains(const torch::Tensor& rows, int64_t chains) const;
  torch::Tensor most_of(int64_t chains) const;
  torch::Tensor changed(const torch::Tensor& x) const;
  torch::Tensor changes(const torch::Tensor& x) const;
  torch::Tensor limit(const torch::Tensor& x, torch::Tensor& energy) const;

  std::shared_ptr<EnergyModel> joint_;
  // Either the reference is defined, which is faster, or the two tensors after it are.
  torch::Tensor reference_;  // uint8 [N, D]
  torch::Tensor differs_;    // bool [N, D, K], as in DistanceLimit
  torch::Tensor movable_;    // bool [N, D]: a site of which some value differs
  torch::Tensor most_;       // int64 []; [N] with differs_
};

}  // namespace isinglass
