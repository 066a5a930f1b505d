// Recognises the model of parameters that lie in a run directory (train/run_directory.h), whose
// config.toml says what was trained.
#pragma once

#include "lab/spec/spec.h"

namespace isinglass {

// Fills in the model's name, the size of its images and its bounds from the config.toml beside
// `weights`, unless they are given. Throws OptionError if no name is given and there is none.
ModelSpec as_trained(ModelSpec model);

}  // namespace isinglass
