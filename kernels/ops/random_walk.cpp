// Implements flip_uniformly() on tensors and registers its torch operator.
#include "kernels/ops/random_walk.h"

#include "kernels/ops/chain_scale.h"
#include "kernels/random_walk/random_walk.h"

namespace isinglass::ops {

void flip_uniformly(const Tensor& x, const Tensor& rng, const Tensor& chain_ids,
                    const Tensor& radius, int64_t categories, bool random_count, Tensor& y) {
  TORCH_CHECK(x.dim() == 2 && categories >= 2,
              "isinglass operator: x must be [B, D] and categories at least 2");
  check(x, x, torch::kUInt8, x.numel(), "x");
  check(y, x, torch::kUInt8, x.numel(), "y");
  check(rng, x, torch::kInt64, 2, "rng");
  check(chain_ids, x, torch::kInt64, x.size(0), "chain_ids");
  run_twin(x, cpu::flip_uniformly, cuda::flip_uniformly, x.size(0), x.size(1),
           static_cast<int>(categories), data<uint8_t>(x), data<int64_t>(rng),
           data<int64_t>(chain_ids), chain_scale(radius, x, x.size(0), 1, "radius"), random_count,
           data<uint8_t>(y));
}

TORCH_LIBRARY_FRAGMENT(isinglass, m) {
  m.def(
      "flip_uniformly(Tensor x, Tensor rng, Tensor chain_ids, Tensor radius, int categories, bool "
      "random_count, Tensor(a!) y) -> ()",
      on_all_devices(flip_uniformly));
}

}  // namespace isinglass::ops
