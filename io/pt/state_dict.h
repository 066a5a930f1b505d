// The parameters in what people save: a state dict alone or within a checkpoint, of a module or of
// a wrapper of it.
#pragma once

#include <string>

#include "io/pt/pt_file.h"

namespace isinglass {

// A state dict; the averages of a checkpoint of this program's training; or the one state dict that
// the dictionary of somebody's checkpoint holds. Throws Error naming them where there are several.
NamedTensors parameters_in(const PtValue& content, const std::string& source);

// Without what all names begin with, part by part: wrappers of modules put their own names before
// those of what they wrap (DataParallel: "module.", torch.compile: "_orig_mod."). No model of the
// registry has such names itself.
NamedTensors unwrapped(NamedTensors tensors);

// The tensor of that name. Of a model whose names all begin with the same parts, which unwrapped()
// has taken off, the name without them counts.
NamedTensors::const_iterator find_tensor(const NamedTensors& tensors, const std::string& name);

// "'W', 'b_v', 'b_h'": the first names, as a sentence lists them.
std::string names_text(const NamedTensors& tensors);

}  // namespace isinglass
