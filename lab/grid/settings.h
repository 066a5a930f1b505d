// Changes the settings of a grid's entries before they become specs: scaling of numbers, and model
// calls in place of steps.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lab/spec/spec.h"

namespace isinglass {

// Inserts the values of `more`, which replace existing ones of the same name.
void override_values(OptionValues& values, const OptionValues& more);

// Returns the text of a value, or `otherwise` if there is none.
std::string text_or(const OptionValues& values, const std::string& name,
                    const std::string& otherwise);

// Reduces numbers of chains, steps, calls and iterations by the square root of the scale, but not
// below a minimum that they were above. Chains stay whole groups.
void scale_down(OptionValues& values, double scale, const std::vector<std::string>& fixed = {},
                int64_t group = 1);

// Replaces `calls` by `steps`, dividing by the sampler's leapfrog steps per step. Returns the
// calls, or 0 without any.
int64_t divide_calls(OptionValues& values);

// Doubles the burn-in and the steps. Doubles the thinning if more than 20 000 draws would be kept.
void lengthen(SampleSpec& spec);

// Formats "radius=5, tau=0.1".
std::string settings_text(const std::vector<std::pair<std::string, std::string>>& settings);

}  // namespace isinglass
