// Options that have an effect only beside others, and are refused without them.
#pragma once

#include <string>

#include "lab/spec/option.h"

namespace isinglass {

// Throws Error for an option among `given` that the command would read and not use. `all`: these
// and what a configuration says.
void refuse_idle(const std::string& command, const OptionValues& given, const OptionValues& all);

}  // namespace isinglass
