// The registry's models of continuous states, and those whose states are what the caller says.
#pragma once

#include "models/registry.h"

namespace isinglass {

std::vector<ModelEntry> continuous_models();

// "NAME=FILE.pt,NAME=FILE.pt" of the flag. Throws Error for anything else.
std::vector<NamedFile> named_files(const std::string& text, const std::string& flag);

}  // namespace isinglass
