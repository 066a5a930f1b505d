// One side of a claim on one model: the settings that its selectors name, and the best of them.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/grid/claims.h"
#include "lab/grid/rows.h"

namespace isinglass {

// A decided verdict needs so many repeats that judge on each side.
inline constexpr int64_t kLeastJudged = 3;

// Settings by one metric, over all repeats, over those that choose and over those that judge.
struct PooledRows {
  std::vector<Setting> all, choosing, judging;
};
PooledRows pooled_rows(const nlohmann::ordered_json& rows, const std::string& metric);

class Side {
 public:
  // level: of the strictest interval that judges it.
  Side(const Claim& claim, const PooledRows& rows, const std::string& model,
       const std::vector<std::string>& selectors, double level);

  // Chosen on one half of the repeats, with its number on the other; none: there is no choice.
  const std::optional<Setting>& best() const { return best_; }
  bool converged(const Setting& setting) const {
    return !needs_convergence_ || setting.converged();
  }
  const std::vector<Setting>& open() const { return open_; }  // of which a number is not known

  // The settings that the chosen one was not chosen from, or that might be better than it.
  std::vector<Setting> unconverged() const;

  // Why there is nothing to compare, or too little to judge by; "" if there is enough.
  std::string missing() const;

  // The swept numbers of the best setting that are ends of their sweeps, beyond which it might be
  // better. Of a share of the best value: those of that best, beyond which the share might be less.
  const std::string& ends() const { return ends_; }

 private:
  void choose();
  void find_ends(const std::string& axis);
  std::string ends_of(const Setting& setting, const std::string& unlimited) const;

  std::vector<std::string> selectors_;
  std::string model_;
  bool needs_convergence_, shares_;
  bool higher_number_, higher_;    // is better: of the metric, and of what is compared
  std::vector<Setting> measured_;  // with and without a defined number
  std::vector<Setting> numbers_;   // those that choose, before any share is taken
  std::vector<Setting> all_, chosen_on_, compared_on_, open_;
  std::optional<Setting> best_;
  std::string ends_;
};

}  // namespace isinglass
