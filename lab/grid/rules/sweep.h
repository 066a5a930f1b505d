// Finds the ends of sweeps. A setting that is the best at an end of its sweep might be better one
// step further, where nothing was measured, so that its side cannot lose a claim by it.
#pragma once

#include <string>
#include <vector>

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

}  // namespace isinglass
