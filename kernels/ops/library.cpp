// The torch operators `isinglass::…`, so that Python can call kernels, too:
//   torch.ops.load_library("build/libisinglass_ops.so"); torch.ops.isinglass.draw_path(…)
//
// The sources of this folder add them. Everything is written into tensors given by the caller;
// all tensors of a call are contiguous and live on one device.
#include <torch/library.h>

TORCH_LIBRARY(isinglass, m) {}
