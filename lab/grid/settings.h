// The settings of a grid's entries before they become specs: numbers that shrink and grow with the
// grid.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lab/spec/spec.h"

namespace isinglass {

// Later values stand for earlier ones of the same name.
void override_values(OptionValues& values, const OptionValues& more);

// The text of a value, or `otherwise`.
std::string text_or(const OptionValues& values, const std::string& name,
                    const std::string& otherwise);

// Numbers that a scale makes smaller, never below a least one where they were above it; chains stay
// whole groups.
void scale_down(OptionValues& values, double scale, const std::vector<std::string>& fixed = {},
                int64_t group = 1);

// `calls` as `steps`, by the sampler's leapfrog steps in a step. Returns the calls, 0 without any.
int64_t divide_calls(OptionValues& values);

// Twice the burn-in and the steps, of which at most some 20 000 are kept.
void lengthen(SampleSpec& spec);

// "radius=5, tau=0.1"
std::string settings_text(const std::vector<std::pair<std::string, std::string>>& settings);

}  // namespace isinglass
