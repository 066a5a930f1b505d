// The machine that a computation runs on.
#pragma once

#include <string>

namespace isinglass {

// The processor's name as the system has it; "unknown" where it has none.
std::string processor_name();

}  // namespace isinglass
