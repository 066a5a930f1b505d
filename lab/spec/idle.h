// Refuses options that have an effect only together with others, if those are missing.
#pragma once

#include <string>

#include "lab/spec/option.h"

namespace isinglass {

// Throws Error for an option among `given` that the command would read but not use. `all` holds
// these options and those of a configuration file.
void refuse_idle(const std::string& command, const OptionValues& given, const OptionValues& all);

}  // namespace isinglass
