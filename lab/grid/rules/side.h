// Represents one side of a claim on one model: the settings that its selectors name, the best of
// them, and the ends of their sweeps. A setting that is the best at an end of its sweep might be
// better one step further, where nothing was measured, so that its side cannot lose a claim by it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/grid/claims.h"
#include "lab/grid/rows.h"

namespace isinglass {

// Returns whether the selector ("pas radius=2") names the setting's sampler and, for every option
// that it names, the setting's value.
bool selects(const std::string& selector, const Setting& setting);

// Returns the names of the options that the selector fixes. They were not tuned, as the claim is
// about these very values.
std::vector<std::string> fixed_by(const std::string& selector);

// Returns the numeric values of the option among the settings, in increasing order and without
// duplicates.
std::vector<double> swept_values(const std::vector<Setting>& settings, const std::string& option);

// Returns whether the value is the least or the largest that the option allows (such as radius =
// 1), so that no sweep goes further.
bool is_own_bound(const std::string& option, double value);

// Returns the numbers of the setting that are the first or the last of their sweep among `settings`
// of the same sampler, as "radius = 20, tau = 0.1"; "" if there are none. An option does not count
// if it has a single value, if it is in `fixed`, if its values are not numbers, or if the value is
// a bound of the option itself. `unlimited` names an option whose largest value does not count as
// an end.
std::string sweep_ends(const Setting& setting, const std::vector<Setting>& settings,
                       const std::vector<std::string>& fixed, const std::string& unlimited = "");

// A verdict needs at least this many judging repeats on each side.
inline constexpr int64_t kLeastJudged = 3;

// Holds the settings with one metric, pooled over all repeats, over those that choose the best and
// over those that judge it.
struct PooledRows {
  std::vector<Setting> all, choosing, judging;
};
PooledRows pooled_rows(const std::vector<Row>& rows, const std::string& metric);

class Side {
 public:
  // `level` is that of the strictest interval that judges the side.
  Side(const Claim& claim, const PooledRows& rows, const std::string& model,
       const std::vector<std::string>& selectors, double level);

  // Returns the setting chosen on one half of the repeats, with its number on the other half, or
  // nothing if none can be chosen.
  const std::optional<Setting>& best() const { return best_; }
  bool converged(const Setting& setting) const {
    return !needs_convergence_ || setting.converged();
  }
  // Returns the settings with an unknown number.
  const std::vector<Setting>& open() const { return open_; }

  // Returns the unconverged settings other than the chosen one, which might be better than it.
  std::vector<Setting> unconverged() const;

  // Returns why there is nothing to compare or too little to judge by; "" if there is enough.
  std::string missing() const;

  // Returns the swept options for which the best setting is at an end of the sweep, beyond which it
  // might be better. For shares of the best value these are the ends at that best value, beyond
  // which the share might be smaller.
  const std::string& ends() const { return ends_; }

 private:
  void choose();
  void find_ends(const std::string& axis);
  std::string ends_of(const Setting& setting, const std::string& unlimited) const;

  std::vector<std::string> selectors_;
  std::string model_;
  bool needs_convergence_, shares_;
  bool higher_number_, higher_;    // Higher is better: for the metric, and for the compared number.
  std::vector<Setting> measured_;  // Includes settings without a defined number.
  std::vector<Setting> numbers_;   // These numbers choose the best, before any share is taken.
  std::vector<Setting> all_, chosen_on_, compared_on_, open_;
  std::optional<Setting> best_;
  std::string ends_;
};

}  // namespace isinglass
