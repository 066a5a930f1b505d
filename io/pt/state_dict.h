// Finds the parameters in the files that people save: a state dict alone or within a checkpoint, of
// a module or of a wrapper around it.
#pragma once

#include <string>

#include "io/pt/pt_file.h"

namespace isinglass {

// Returns the content if it is a state dict, the averaged parameters if it is a training checkpoint
// of this program, or the only state dict that another dictionary holds. Throws Error naming the
// state dicts if there are several.
NamedTensors parameters_in(const PtValue& content, const std::string& source);

// Removes the prefix that all names have in common, component by component. Wrappers of modules put
// their own names before those of the wrapped module (DataParallel: "module.", torch.compile:
// "_orig_mod."). No model of the registry has such a common prefix itself.
NamedTensors unwrapped(NamedTensors tensors);

// Returns the tensor of that name. If unwrapped() has removed a prefix that belongs to the model's
// own names, the name without the prefix is found.
NamedTensors::const_iterator find_tensor(const NamedTensors& tensors, const std::string& name);

// Returns the first names as a sentence lists them: "'W', 'b_v', 'b_h'".
std::string names_text(const NamedTensors& tensors);

}  // namespace isinglass
