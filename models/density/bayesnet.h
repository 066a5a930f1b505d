// Bayesian network of discrete variables: U(x) = −log Π_i p(x_i given parents), read from the .uai
// files of the UAI competition's format. A zero probability counts as 1e-30.
//
// The format is a text: BAYES; the number of variables; their numbers of values; the number of
// factors; a line a factor: its number of variables, then these, the child last; then a factor's
// table: its number of entries, then these, the last variable fastest. Here all variables have
// equally many values.
#pragma once

#include <filesystem>
#include <vector>

#include "models/energy_model.h"

namespace isinglass {

struct BayesNetFactor {
  torch::Tensor variables;  // int64 [V], the child last
  torch::Tensor table;      // float64 [K^V], the last variable fastest
};

// A site's conditional and differences need the factors that it is in, and no others.
class BayesNetModel : public EnergyModel, public HasConditionals, public HasEnergyDifferences {
 public:
  BayesNetModel(int64_t variables, int64_t values, const std::vector<BayesNetFactor>& factors);

  std::string kind_name() const override { return "bayesnet"; }
  StateSpace space() const override {
    return {values_ == 2 ? StateKind::kBinary : StateKind::kCategorical, variables_, values_};
  }
  bool differentiable() const override { return false; }
  torch::Tensor energy(const torch::Tensor& x) override;
  void evaluate_differences(const torch::Tensor& x, Evaluation& out) override;
  void conditional_differences(const torch::Tensor& x, const torch::Tensor& site,
                               torch::Tensor& out) override;

 private:
  torch::Tensor entries(const torch::Tensor& x) const;
  torch::Tensor costs(const torch::Tensor& entries) const;

  int64_t variables_, values_;
  torch::Tensor cost_;    // float64 [Σ K^V]: −log of all tables, one after the other
  torch::Tensor offset_;  // float64 [F]: where a factor's table begins
  torch::Tensor stride_;  // float64 [D, F]: of each variable in each factor's table
  // int64 [D, P]: the factors of each variable and its strides in them; stride 0 fills up
  torch::Tensor own_factor_, own_stride_;
};

// Throws Error naming the file and what is wrong with it: a word that is no number, tables of the
// wrong size, rows that do not sum to 1, a variable that is no factor's child, a cycle.
std::shared_ptr<BayesNetModel> read_bayesnet(const std::filesystem::path& file);

}  // namespace isinglass
