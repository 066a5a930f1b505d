// A model of which some sites take only some of their values. States are the numbers of the allowed
// values of each site: with K' the largest number of allowed values of a site, value c of site i is
// a_{i,c}, c = 0 … K' − 1. A site with fewer allowed values has several numbers for some of them,
// and
//
//   U'(c) = U(a(c)) + Σ_i log m_{i,c_i},   m_{i,c} the number of numbers with the value a_{i,c}
//
// so that every state of allowed values has its own probability under exp(−U), and nothing else has
// any. A forbidden value is never proposed.
//
// States are categorical, also those of ordered sites; their gradient at value a is a·∂U/∂x_i.
#pragma once

#include <memory>
#include <string>

#include "kernels/ops/scratch.h"
#include "models/wrapped_model.h"

namespace isinglass {

class AllowedValues {
 public:
  // allowed: [D, K], not 0 where the site may take the value. `what` names it in messages. Throws
  // Error for another shape, for a site without an allowed value, for spaces that are neither
  // categorical nor ordered nor binary, and if every site has only one value.
  AllowedValues(const StateSpace& whole, const torch::Tensor& allowed, const std::string& what,
                torch::Device device);

  StateSpace space() const;  // that of the numbers
  const StateSpace& whole() const { return whole_; }
  const torch::Tensor& values() const { return values_; }          // a, int64 [D, K']
  const torch::Tensor& log_copies() const { return log_copies_; }  // log m, float64 [D, K']
  // Returns which sites have one value only, bool [D]. Their log m is 0: they are to be fixed.
  torch::Tensor single() const;

  torch::Tensor decode(const torch::Tensor& numbers) const;  // uint8 [B, D]
  // Returns the first number of each value, uint8 [B, D]. Throws Error, which names `what`, for a
  // value that is not allowed. Entries of `given` below 0 stay as they are, and it may be [D].
  torch::Tensor encode(const torch::Tensor& given, const std::string& what) const;
  // Returns Σ_i log m_{i,c_i}, float64 [B].
  torch::Tensor extra_energy(const torch::Tensor& numbers) const;

 private:
  StateSpace whole_;
  torch::Tensor values_, log_copies_;
  torch::Tensor number_;  // int64 [D, K]: the first number of a value, −1 if it is not allowed
};

class AllowedModel : public WrappedModel, public HasConditionals, public HasEnergyDifferences {
 public:
  AllowedModel(std::shared_ptr<EnergyModel> joint, AllowedValues allowed);

  std::string title() const override { return inner().title() + " of allowed values"; }
  StateSpace space() const override { return allowed_.space(); }
  torch::Tensor base_mean() const override { return {}; }

  torch::Tensor energy(const torch::Tensor& x) override;
  void evaluate_energy(const torch::Tensor& x, Evaluation& out) override;
  void evaluate(const torch::Tensor& x, Evaluation& out) override;

  HasConditionals* conditionals() override { return inner().conditionals() ? this : nullptr; }
  void conditional_differences(const torch::Tensor& x, const torch::Tensor& site,
                               torch::Tensor& out) override;
  HasEnergyDifferences* exact_differences() override {
    return inner().exact_differences() ? this : nullptr;
  }
  void evaluate_differences(const torch::Tensor& x, Evaluation& out) override;
  int64_t difference_calls() const override {
    return inner().exact_differences()->difference_calls();
  }

 private:
  torch::Tensor copies_at(const torch::Tensor& x) const;

  AllowedValues allowed_;
};

}  // namespace isinglass
