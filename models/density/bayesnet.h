// Bayesian or Markov network of discrete variables: U(x) = −Σ_f log t_f(x) with a table t_f for
// each factor, for states x [B, D]. In a Bayesian network the tables are conditional probabilities,
// one for each variable given its parents. Networks are read from files in the .uai format of the
// UAI competition and in the Interchange Format (bif_file.h). A probability of zero counts as
// 1e-30, and an entry of zero in a Markov network as 1e-30 of the table's largest one.
//
// All sites of a state have K values, the most that a variable of the network has and at least two.
// A value that a variable does not have, and one that contradicts the evidence, has a probability
// of about 1e-60 of that of the others. The energy of the other states is exact. With evidence the
// target is the posterior.
//
// A .uai file is a text that holds, in this order: the word BAYES or MARKOV; the number of
// variables; the number of values of each variable; the number of factors; one line a factor with
// its number of variables and these variables, the child last; and for each factor the number of
// entries in its table and the entries, with the last variable varying fastest. The rest of a line
// after # is a comment. Evidence, "n variable value …" for n observed variables, may follow the
// last table or be in a file of the same name with .evid added; it may begin with the number of
// samples, 1.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/energy_model.h"

namespace isinglass {

// Holds one table, in a Bayesian network p(child | parents).
struct BayesNetFactor {
  torch::Tensor variables;  // int64 [V], the child last
  torch::Tensor table;      // float64 [Π of their numbers of values], the last variable fastest
  double zero = 1e-30;      // replaces entries that are 0
};

inline constexpr int64_t kMostNetworkVariables = 1 << 16;
inline constexpr int64_t kMostNetworkValues = 256;
inline constexpr int64_t kMostNetworkEntries = 1 << 24;  // of all tables together
// Limits how far a row of probabilities may be from the sum 1, since files give few digits.
inline constexpr double kRowRounding = 1e-3;

// Holds a network as a file gives it.
struct NetworkText {
  std::string kind;  // BAYES, MARKOV or BIF
  std::vector<int64_t> values;
  std::vector<BayesNetFactor> factors;
  std::vector<std::string> names;  // names of the variables and their values; empty in .uai files
};

// Describes what a file holds.
struct NetworkReading {
  std::string kind;  // BAYES, MARKOV or BIF
  int64_t variables, least_values, most_values, factors, entries;
  int64_t zeros = 0, observed = 0;            // entries that are 0, and variables with evidence
  std::string evidence_from = "no evidence";  // the place where the evidence was found
  std::vector<std::string> names = {};        // as in NetworkText
};

// Computes a site's conditional and differences from the factors that contain the site, and from no
// others.
class BayesNetModel : public EnergyModel, public HasConditionals, public HasEnergyDifferences {
 public:
  // values: the number of values of each variable. evidence: pairs of a variable and its value.
  BayesNetModel(const std::vector<int64_t>& values, const std::vector<BayesNetFactor>& factors,
                const std::vector<std::pair<int64_t, int64_t>>& evidence = {});

  std::string kind_name() const override { return "bayesnet"; }
  StateSpace space() const override {
    return {values_ == 2 ? StateKind::kBinary : StateKind::kCategorical, variables_, values_};
  }
  bool differentiable() const override { return false; }
  torch::Tensor energy(const torch::Tensor& x) override;
  void evaluate_differences(const torch::Tensor& x, Evaluation& out) override;
  void conditional_differences(const torch::Tensor& x, const torch::Tensor& site,
                               torch::Tensor& out) override;
  const std::optional<NetworkReading>& reading() const { return reading_; }

 private:
  friend std::shared_ptr<BayesNetModel> read_bayesnet(const std::filesystem::path& file);
  void forbid(const std::vector<int64_t>& values,
              const std::vector<std::pair<int64_t, int64_t>>& evidence);
  torch::Tensor looked_up(const torch::Tensor& value) const;
  torch::Tensor penalties(const torch::Tensor& value) const;
  torch::Tensor entries(const torch::Tensor& x) const;
  torch::Tensor entries_of(const torch::Tensor& x, const torch::Tensor& factors) const;
  torch::Tensor costs(const torch::Tensor& entries) const;

  int64_t variables_, values_;
  torch::Tensor cost_;    // float64 [Σ K^V]: −log of all tables, concatenated
  torch::Tensor offset_;  // int64 [F]: index at which each factor's table begins
  // Hold the variables of each factor and their strides in its table, int64 [F, V]. Unused places
  // have stride 0.
  torch::Tensor scope_, stride_;
  // Hold all P pairs of a variable and a factor that contains it, by variable: the factor, the
  // stride in its table and the variable, int64 [P], and the first pair of each variable,
  // int64 [D + 1]. A variable has most_own_ pairs at most.
  torch::Tensor own_factor_, own_stride_, own_site_, first_own_;
  int64_t most_own_;
  // Hold the last value of each variable, int64 [D], and the cost of forbidden values, float64
  // [D, K]. Both are undefined if nothing is forbidden.
  torch::Tensor last_, forbidden_;
  std::optional<NetworkReading> reading_;
};

// Reads a network. Throws Error naming the file, the line and the problem: a word that is not a
// number, a table of the wrong size, rows of a Bayesian network that do not sum to 1, a variable
// that is the child of no factor, a cycle, or evidence that names no value of a variable. Evidence
// about a network in BIF is read from a file of the same name with .evid added, in .uai's format.
std::shared_ptr<BayesNetModel> read_bayesnet(const std::filesystem::path& file);

// Returns true if the first word of the file is that of a network.
bool is_network_text(const std::filesystem::path& file);

}  // namespace isinglass
