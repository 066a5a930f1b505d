// Defines the library of torch operators `isinglass::…`, so that Python can call kernels too:
//   torch.ops.load_library("build/libisinglass_ops.so"); torch.ops.isinglass.draw_path(…)
//
// The sources of this folder register the operators. Every result is written to a tensor given by
// the caller. All tensors of a call are contiguous and on one device.
#include <torch/library.h>

TORCH_LIBRARY(isinglass, m) {}
