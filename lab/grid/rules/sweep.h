// Ends of sweeps. A setting that is the best at an end of its sweep might be better one step
// further, where nothing was measured: its side cannot lose a claim by it.
#pragma once

#include <string>
#include <vector>

#include "lab/grid/rows.h"

namespace isinglass {

// "pas radius=2": the sampler, and every setting that is named.
bool selects(const std::string& selector, const Setting& setting);

// The names of the settings that the selector fixes. Nothing was tuned there: the claim is about
// these very values.
std::vector<std::string> fixed_by(const std::string& selector);

// Values of the option among the settings, if they are numbers; rising, each once.
std::vector<double> swept_values(const std::vector<Setting>& settings, const std::string& option);

// Returns whether the value is the least or the largest that the option takes at all (radius = 1):
// no sweep goes further.
bool is_own_bound(const std::string& option, double value);

// The swept numbers of the setting that are the first or the last of their sweep among `settings`
// of the same sampler, as "radius = 20, tau = 0.1"; "" if there are none. An option with one value
// is no sweep, nor is one of `fixed`, one of `others` values, or a bound of its own.
// `unlimited`: an option whose largest value counts as no end.
std::string sweep_ends(const Setting& setting, const std::vector<Setting>& settings,
                       const std::vector<std::string>& fixed, const std::string& unlimited = "");

}  // namespace isinglass
