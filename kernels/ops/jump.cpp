// Implements the tensor layer of jump proposals: it checks tensors, runs the kernels of jump.h and
// lattice_jump.h.
#include "kernels/ops/jump.h"

#include "kernels/jump/fast/lattice_jump.h"
#include "kernels/ops/check.h"

namespace isinglass::ops {
namespace {

JumpShape jump_shape(const Tensor& x, const Tensor& gradient, int64_t categories, JumpRule rule,
                     Balancing balancing, const Tensor& log_q) {
  TORCH_CHECK(x.dim() == 2 && (gradient.dim() == 2 || gradient.dim() == 3),
              "isinglass operator: x must be [B, D] and its gradient [B, D] or [B, D, K]");
  const bool one_hot = gradient.dim() == 3;
  TORCH_CHECK(categories >= 2 && categories <= 256,
              "isinglass operator: categories must be 2 to 256");
  TORCH_CHECK(rule != JumpRule::kBackwardEuler || categories <= kMaxSolvedCategories,
              "isinglass operator: the backward Euler rule takes at most ", kMaxSolvedCategories,
              " categories");
  check(x, x, torch::kUInt8, x.numel(), "a state");
  check(gradient, x, torch::kFloat32, x.numel() * (one_hot ? categories : 1), "gradient");
  check(log_q, x, torch::kFloat64, x.size(0), "log_q");
  return {x.size(0), x.size(1), static_cast<int>(categories), one_hot, rule, balancing};
}

}  // namespace

void draw_jump(const Tensor& x, const Tensor& gradient, const Tensor& rng, const Tensor& chain_ids,
               const Tensor& scale, int64_t categories, JumpRule rule, Balancing balancing,
               Tensor& y, Tensor& log_q) {
  const JumpShape shape = jump_shape(x, gradient, categories, rule, balancing, log_q);
  check(rng, x, torch::kInt64, 2, "rng");
  check(chain_ids, x, torch::kInt64, shape.chains, "chain_ids");
  check(y, x, torch::kUInt8, x.numel(), "y");
  run_twin(x, cpu::draw_jump, cuda::draw_jump, shape, data<uint8_t>(x), data<float>(gradient),
           data<int64_t>(rng), data<int64_t>(chain_ids),
           chain_scale(scale, x, shape.chains, 1, "scale"), data<uint8_t>(y), data<double>(log_q));
}

void score_jump(const Tensor& from, const Tensor& gradient, const Tensor& to, const Tensor& scale,
                int64_t categories, JumpRule rule, Balancing balancing, Tensor& log_q) {
  const JumpShape shape = jump_shape(from, gradient, categories, rule, balancing, log_q);
  check(to, from, torch::kUInt8, from.numel(), "to");
  run_twin(from, cpu::score_jump, cuda::score_jump, shape, data<uint8_t>(from),
           data<float>(gradient), data<uint8_t>(to),
           chain_scale(scale, from, shape.chains, 1, "scale"), data<double>(log_q));
}

bool LatticeJumps::fit(int64_t sites, torch::Device device) {
  return device.is_cpu() || cuda::lattice_jump_fits(sites, device.index());
}

void lattice_jump_step(const NeighbourhoodTensors& p, int64_t steps, const Tensor& rng,
                       const Tensor& chain_ids, const Tensor& scale, LatticeJumps& jumps, Tensor& x,
                       Tensor& energy, StepBuffers& counts) {
  TORCH_CHECK(x.dim() == 2, "isinglass operator: x must be [B, D]");
  const int64_t chains = x.size(0), sites = x.size(1);
  const NeighbourhoodTable neighbourhoods = neighbourhood_pointers(p, x);
  check(x, x, torch::kUInt8, x.numel(), "x");
  check(rng, x, torch::kInt64, 2, "rng");
  check(chain_ids, x, torch::kInt64, chains, "chain_ids");
  check(scale, x, torch::kFloat64, 1, "scale");
  check(energy, x, torch::kFloat64, chains, "energy");
  const JumpShape shape{chains, sites, 2, false, jumps.rule, jumps.balancing};
  if (!jumps.threshold.defined()) {
    jumps.threshold = torch::empty({sites, 2, kNeighbourhoods}, x.options().dtype(torch::kInt32));
    jumps.scale = 0;
  }
  check(jumps.threshold, x, torch::kInt32, sites * kSiteThresholds, "threshold");
  if (!x.is_cpu() || *data<double>(scale) != jumps.scale) {
    if (x.is_cpu()) jumps.scale = *data<double>(scale);
    run_twin(x, cpu::find_thresholds, cuda::find_thresholds, shape, neighbourhoods,
             data<double>(scale), data<int32_t>(jumps.threshold));
  }
  const LatticeJumpStep step{steps,
                             shape,
                             neighbourhoods,
                             data<int32_t>(jumps.threshold),
                             data<int64_t>(rng),
                             data<int64_t>(chain_ids),
                             data<uint8_t>(x),
                             data<double>(energy),
                             jumps.unadjusted,
                             count_pointers(counts, x, chains)};
  run_twin(x, cpu::lattice_jump_step, cuda::lattice_jump_step, step);
}

}  // namespace isinglass::ops
