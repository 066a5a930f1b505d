// Implements the tensor layer of any-scale proposals: it checks tensors, runs the kernels of
// any_scale.h.
#include "kernels/ops/any_scale.h"

#include "kernels/ops/check.h"

namespace isinglass::ops {
namespace {

void check_optional(const Tensor& t, const Tensor& like, int64_t numel, const char* name) {
  if (t.defined()) check(t, like, torch::kFloat64, numel, name);
}

OrderedShape ordered_shape(const Tensor& x, const OrderedInputs& inputs, int64_t categories) {
  TORCH_CHECK(x.dim() == 2, "isinglass operator: x must be [B, D]");
  TORCH_CHECK(inputs.noise.defined() == inputs.field.defined(),
              "isinglass operator: noise and field must be given together");
  TORCH_CHECK(categories >= 2 && categories <= 256,
              "isinglass operator: ordered sites have 2 to 256 values");
  check(x, x, torch::kUInt8, x.numel(), "a state");
  check(inputs.gradient, x, torch::kFloat32, x.numel(), "gradient");
  check_optional(inputs.noise, x, x.numel(), "noise");
  check_optional(inputs.field, x, x.numel(), "field");
  check_optional(inputs.diagonal, x, x.size(1), "diagonal");
  return {x.size(0), x.size(1), static_cast<int>(categories)};
}

OrderedProposal pointers(const OrderedInputs& inputs, const Tensor& x) {
  return {data<float>(inputs.gradient), data<double>(inputs.noise), data<double>(inputs.field),
          data<double>(inputs.diagonal), chain_scale(inputs.scale, x, x.size(0), 2, "scale")};
}

}  // namespace

void draw_ordered(const Tensor& x, const OrderedInputs& inputs, int64_t categories,
                  const Tensor& rng, const Tensor& chain_ids, Tensor& y, Tensor& move,
                  Tensor& log_q) {
  const OrderedShape shape = ordered_shape(x, inputs, categories);
  check(rng, x, torch::kInt64, 2, "rng");
  check(chain_ids, x, torch::kInt64, shape.chains, "chain_ids");
  check(y, x, torch::kUInt8, x.numel(), "y");
  check_optional(move, x, x.numel(), "move");
  check(log_q, x, torch::kFloat64, shape.chains, "log_q");
  run_twin(x, cpu::draw_ordered, cuda::draw_ordered, shape, pointers(inputs, x), data<uint8_t>(x),
           data<int64_t>(rng), data<int64_t>(chain_ids), data<uint8_t>(y), data<double>(move),
           data<double>(log_q));
}

void score_ordered(const Tensor& from, const Tensor& to, const OrderedInputs& inputs,
                   int64_t categories, Tensor& log_q) {
  const OrderedShape shape = ordered_shape(from, inputs, categories);
  check(to, from, torch::kUInt8, from.numel(), "to");
  check(log_q, from, torch::kFloat64, shape.chains, "log_q");
  run_twin(from, cpu::score_ordered, cuda::score_ordered, shape, pointers(inputs, from),
           data<uint8_t>(from), data<uint8_t>(to), data<double>(log_q));
}

}  // namespace isinglass::ops
