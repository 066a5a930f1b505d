// Describes the machine that a computation runs on.
#pragma once

#include <string>

namespace isinglass {

// Returns the processor's name as the system reports it; "unknown" if it reports none.
std::string processor_name();

}  // namespace isinglass
