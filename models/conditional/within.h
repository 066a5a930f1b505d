// A model whose states differ from a reference state at k sites at most (a Hamming ball): U is
// infinite outside. Chains at the boundary have gradients and differences that exclude the moves
// which would leave the ball (of ordered sites the differences alone); other moves that leave it
// are rejected.
#pragma once

#include <memory>
#include <string>

#include "models/conditional/distance_limit.h"
#include "models/wrapped_model.h"

namespace isinglass {

class WithinModel : public WrappedModel, public HasConditionals, public HasEnergyDifferences {
 public:
  // reference: states [D], for all chains, or [N, D], whose rows hold for chains in turn
  // (chain_rows.h). most: k ≥ 1. The sites are binary, categorical or ordered.
  WithinModel(std::shared_ptr<EnergyModel> joint, const torch::Tensor& reference, int64_t most);
  // The states of `joint` are those that the limit counts changes of.
  WithinModel(std::shared_ptr<EnergyModel> joint, const DistanceLimit& limit);

  std::string title() const override { return inner().title() + " near a reference state"; }

  torch::Tensor energy(const torch::Tensor& x) override;
  void evaluate_energy(const torch::Tensor& x, Evaluation& out) override;
  void evaluate(const torch::Tensor& x, Evaluation& out) override;

  HasConditionals* conditionals() override { return inner().conditionals() ? this : nullptr; }
  void conditional_differences(const torch::Tensor& x, const torch::Tensor& site,
                               torch::Tensor& out) override;
  void update_after_move(const torch::Tensor& x, Evaluation& current) override {
    inner().conditionals()->update_after_move(x, current);
  }
  // Where the joint model has no exact differences and chains differ in their reference, neighbours
  // are evaluated by differences_in_turn().
  HasEnergyDifferences* exact_differences() override {
    const int64_t rows = (reference_.defined() ? reference_ : differs_).size(0);
    return inner().exact_differences() || rows > 1 ? this : nullptr;
  }
  void evaluate_differences(const torch::Tensor& x, Evaluation& out) override;
  int64_t difference_calls() const override {
    HasEnergyDifferences* exact = inner().exact_differences();
    return exact ? exact->difference_calls() : 1 + space().neighbours();
  }

 private:
  torch::Tensor most_of(int64_t chains) const;
  torch::Tensor changed(const torch::Tensor& x) const;
  torch::Tensor changes(const torch::Tensor& x) const;
  torch::Tensor limit(const torch::Tensor& x, torch::Tensor& energy) const;

  // Either the reference is defined, which is faster, or the two tensors after it are.
  torch::Tensor reference_;  // uint8 [N, D]
  torch::Tensor differs_;    // bool [N, D, K], as in DistanceLimit
  torch::Tensor movable_;    // bool [N, D]: a site of which some value differs
  torch::Tensor most_;       // int64 []; [N] with differs_
};

}  // namespace isinglass
