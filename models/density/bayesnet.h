// Bayesian network of discrete variables: U(x) = −Σ_i log p(x_i | parents of i), for states x
// [B, D] of K values each. Networks are read from files in the .uai format of the UAI competition.
// A probability of zero counts as 1e-30.
//
// A .uai file is a text that holds, in this order: the word BAYES; the number of variables; the
// number of values of each variable; the number of factors; one line a factor with its number of
// variables and these variables, the child last; and for each factor the number of entries in its
// table and the entries, with the last variable varying fastest. This implementation requires all
// variables to have the same number of values.
#pragma once

#include <filesystem>
#include <vector>

#include "models/energy_model.h"

namespace isinglass {

// Holds one conditional probability table, p(child | parents).
struct BayesNetFactor {
  torch::Tensor variables;  // int64 [V], the child last
  torch::Tensor table;      // float64 [K^V], the last variable fastest
};

// Computes a site's conditional and differences from the factors that contain the site, and from no
// others.
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
  torch::Tensor cost_;    // float64 [Σ K^V]: −log of all tables, concatenated
  torch::Tensor offset_;  // float64 [F]: index at which each factor's table begins
  torch::Tensor stride_;  // float64 [D, F]: stride of each variable in each factor's table
  // Hold the factors of each variable and its strides in them, int64 [D, P]; unused places have
  // stride 0.
  torch::Tensor own_factor_, own_stride_;
};

// Reads a network. Throws Error naming the file and the problem: a word that is not a number, a
// table of the wrong size, rows that do not sum to 1, a variable that is the child of no factor, or
// a cycle.
std::shared_ptr<BayesNetModel> read_bayesnet(const std::filesystem::path& file);

}  // namespace isinglass
