// Implements the tensor layer of the Metropolis test: it checks tensors, runs the kernels of
// metropolis.h.
#include "kernels/ops/metropolis.h"

#include "kernels/accept/metropolis.h"
#include "kernels/ops/check.h"

namespace isinglass::ops {

void accept(const Tensor& energy, const Tensor& proposed_energy, const Tensor& log_forward,
            const Tensor& log_backward, const Tensor& rng, const Tensor& chain_ids,
            at::TensorList current, at::TensorList proposed, StepBuffers& counts, bool unadjusted,
            int64_t group) {
  TORCH_CHECK(
      !current.empty() && current.size() == proposed.size() && current.size() <= kMaxBuffers,
      "isinglass operator: accept needs 1 to ", kMaxBuffers, " pairs of buffers");
  const Tensor &x = current[0], &y = proposed[0];
  const int64_t chains = energy.numel();
  TORCH_CHECK(group >= 1 && chains % group == 0,
              "isinglass operator: the size of a group must divide the number of chains");
  TORCH_CHECK(
      x.dim() == 2 && (x.scalar_type() == torch::kUInt8 || x.scalar_type() == torch::kFloat32 ||
                       x.scalar_type() == torch::kInt64),
      "isinglass operator: states must be uint8, float32 or int64 [B, D]");
  check(energy, x, torch::kFloat64, chains, "energy");
  check(proposed_energy, x, torch::kFloat64, chains, "proposed_energy");
  if (log_forward.defined()) {
    check(log_forward, x, torch::kFloat64, chains, "log_forward");
    check(log_backward, x, torch::kFloat64, chains, "log_backward");
  }
  check(rng, x, torch::kInt64, 2, "rng");
  check(chain_ids, x, torch::kInt64, chains, "chain_ids");
  AcceptedBuffers buffers{{}, static_cast<int>(current.size())};
  for (size_t i = 0; i < current.size(); ++i) {
    check(current[i], x, current[i].scalar_type(), current[i].numel(), "a current buffer");
    check(proposed[i], x, current[i].scalar_type(), current[i].numel(), "a proposed buffer");
    buffers.buffer[i] = {current[i].mutable_data_ptr(), proposed[i].const_data_ptr(),
                         chains > 0 ? static_cast<int64_t>(current[i].nbytes()) / chains : 0};
  }
  const StatePair states{x.const_data_ptr(), y.const_data_ptr(), x.size(1), x.element_size()};
  const ProposalScores scores{data<double>(energy),
                              data<double>(proposed_energy),
                              data<double>(log_forward),
                              data<double>(log_backward),
                              unadjusted,
                              group};
  run_twin(x, cpu::accept, cuda::accept, chains, states, scores, data<int64_t>(rng),
           data<int64_t>(chain_ids), buffers, count_pointers(counts, x, chains));
}

void advance(Tensor& rng, int64_t steps) {
  check(rng, rng, torch::kInt64, 2, "rng");
  run_twin(rng, cpu::advance, cuda::advance, data<int64_t>(rng), steps);
}

}  // namespace isinglass::ops
