// Implements the tensor layer of paths with exact differences: it checks tensors, runs the kernel
// of exact_path.h and registers its torch operator.
#include "kernels/ops/exact_path.h"

#include "kernels/ops/chain_scale.h"

namespace isinglass::ops {
namespace {

ExactPathShape path_shape(const Tensor& y, const Tensor& differences, Balancing balancing,
                          int64_t max_length) {
  TORCH_CHECK(y.dim() == 2 && (differences.dim() == 2 || differences.dim() == 3),
              "isinglass operator: y must be [B, D] and its differences [B, D], [B, D, K] or "
              "[B, D(D-1)/2]");
  const bool swaps = y.scalar_type() == torch::kInt64, values = differences.dim() == 3;
  ExactPathShape shape{y.size(0),
                       y.size(1),
                       values ? static_cast<int>(differences.size(2)) : 2,
                       swaps ? Moves::kSwaps : (values ? Moves::kValues : Moves::kFlips),
                       balancing,
                       max_length};
  check_numbered(shape.entries(), swaps ? "pairs of sites" : "sites");
  check(y, y, swaps ? torch::kInt64 : torch::kUInt8, y.numel(), "y");
  check(differences, y, torch::kFloat32, shape.chains * shape.table_stride(), "differences");
  return shape;
}

}  // namespace

ExactPathBuffers ExactPathBuffers::create(const Tensor& differences) {
  const auto on = torch::TensorOptions().device(differences.device());
  const int64_t chains = differences.size(0), entries = differences.size(1);
  return {torch::zeros({chains}, on.dtype(torch::kInt32)),
          torch::zeros({chains}, on.dtype(torch::kInt32)),
          torch::zeros({chains}, on.dtype(torch::kUInt8)),
          torch::zeros({chains, block_sums_size(entries)}, on.dtype(torch::kFloat64))};
}

void advance_exact_path(const Tensor& differences, const Tensor& rng, const Tensor& chain_ids,
                        const Tensor& radius, int64_t position, int64_t max_length,
                        Balancing balancing, Tensor& y, ExactPathBuffers& paths,
                        Tensor& log_forward, Tensor& log_backward) {
  const ExactPathShape shape = path_shape(y, differences, balancing, max_length);
  check(rng, y, torch::kInt64, 2, "rng");
  check(chain_ids, y, torch::kInt64, shape.chains, "chain_ids");
  check(paths.length, y, torch::kInt32, shape.chains, "length");
  check(paths.entry, y, torch::kInt32, shape.chains, "entry");
  check(paths.from, y, torch::kUInt8, shape.chains, "from");
  check(paths.block_sums, y, torch::kFloat64, shape.chains * block_sums_size(shape.entries()),
        "block_sums");
  check(log_forward, y, torch::kFloat64, shape.chains, "log_forward");
  check(log_backward, y, torch::kFloat64, shape.chains, "log_backward");
  const ExactPaths pointers{data<int32_t>(paths.length), data<int32_t>(paths.entry),
                            data<uint8_t>(paths.from), data<double>(paths.block_sums)};
  run_twin(y, cpu::advance_exact_path, cuda::advance_exact_path, shape, position,
           data<float>(differences), data<int64_t>(rng), data<int64_t>(chain_ids),
           chain_scale(radius, y, shape.chains, 1, "radius"),
           static_cast<uint8_t*>(y.mutable_data_ptr()), pointers, data<double>(log_forward),
           data<double>(log_backward));
}

namespace {

// A torch operator takes plain tensors and numbers. This adapter converts them to the arguments of
// the function above.
void advance_exact_path_op(const Tensor& differences, const Tensor& rng, const Tensor& chain_ids,
                           const Tensor& radius, int64_t position, int64_t max_length,
                           int64_t balancing, Tensor y, Tensor length, Tensor entry, Tensor from,
                           Tensor block_sums, Tensor log_forward, Tensor log_backward) {
  ExactPathBuffers paths{length, entry, from, block_sums};
  advance_exact_path(differences, rng, chain_ids, radius, position, max_length,
                     static_cast<Balancing>(balancing), y, paths, log_forward, log_backward);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(isinglass, m) {
  m.def(
      "advance_exact_path(Tensor differences, Tensor rng, Tensor chain_ids, Tensor radius, int "
      "position, int max_length, int balancing, Tensor(a!) y, Tensor(b!) length, Tensor(c!) entry, "
      "Tensor(d!) from_, Tensor(e!) block_sums, Tensor(f!) log_forward, Tensor(g!) log_backward) "
      "-> ()",
      on_all_devices(advance_exact_path_op));
}

}  // namespace isinglass::ops
