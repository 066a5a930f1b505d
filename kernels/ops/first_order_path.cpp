// Implements the tensor layer of first-order paths: it checks tensors, runs the kernels of
// first_order_path.h and registers their torch operators.
#include "kernels/ops/first_order_path.h"

#include "kernels/ops/chain_scale.h"

namespace isinglass::ops {

PathShape path_shape(const Tensor& x, const Tensor& gradient, int64_t categories, PathRule rule,
                     Balancing balancing, const PathBuffers& paths, int64_t scratch,
                     int64_t steps) {
  TORCH_CHECK(x.dim() == 2 && (gradient.dim() == 2 || gradient.dim() == 3),
              "isinglass operator: x must be [B, D] and its gradient [B, D] or [B, D, K]");
  TORCH_CHECK(categories >= 2 && categories <= 256,
              "isinglass operator: categories must be 2 to 256");
  check_numbered(x.size(1), "sites");
  const bool one_hot = gradient.dim() == 3;
  const int64_t chains = x.size(0), max_length = paths.site.size(1);
  check(x, x, torch::kUInt8, x.numel(), "a state");
  check(gradient, x, torch::kFloat32, x.numel() * (one_hot ? categories : 1), "gradient");
  check(paths.length, x, torch::kInt32, steps * chains, "length");
  check(paths.site, x, torch::kInt32, chains * max_length, "site");
  check(paths.from, x, torch::kUInt8, chains * max_length, "from");
  check(paths.to, x, torch::kUInt8, chains * max_length, "to");
  check(paths.scratch, x, torch::kFloat64, chains * scratch, "scratch");
  TORCH_CHECK(rule != PathRule::kNoBacktrack || max_length <= x.size(1),
              "isinglass operator: a path without replacement has at most D moves");
  return {chains, x.size(1), static_cast<int>(categories), one_hot, rule, balancing, max_length};
}

Paths path_pointers(const PathBuffers& paths) {
  return {data<int32_t>(paths.length), data<int32_t>(paths.site), data<uint8_t>(paths.from),
          data<uint8_t>(paths.to), data<double>(paths.scratch)};
}

PathBuffers PathBuffers::create(int64_t chains, int64_t sites, int64_t max_length,
                                torch::Device device) {
  const auto on = torch::TensorOptions().device(device);
  return {torch::zeros({chains}, on.dtype(torch::kInt32)),
          torch::zeros({chains, max_length}, on.dtype(torch::kInt32)),
          torch::zeros({chains, max_length}, on.dtype(torch::kUInt8)),
          torch::zeros({chains, max_length}, on.dtype(torch::kUInt8)),
          torch::zeros({chains, sums_scratch(sites)}, on.dtype(torch::kFloat64))};
}

void draw_path(const Tensor& x, const Tensor& gradient, const Tensor& rng, const Tensor& chain_ids,
               const Tensor& radius, int64_t categories, PathRule rule, Balancing balancing,
               Tensor& y, PathBuffers& paths, Tensor& log_q) {
  const PathShape shape = path_shape(x, gradient, categories, rule, balancing, paths,
                                     sums_scratch(x.size(1)), /*steps=*/1);
  check(rng, x, torch::kInt64, 2, "rng");
  check(chain_ids, x, torch::kInt64, shape.chains, "chain_ids");
  check(y, x, torch::kUInt8, x.numel(), "y");
  check(log_q, x, torch::kFloat64, shape.chains, "log_q");
  run_twin(x, cpu::draw_path, cuda::draw_path, shape, data<uint8_t>(x), data<float>(gradient),
           data<int64_t>(rng), data<int64_t>(chain_ids),
           chain_scale(radius, x, shape.chains, 1, "radius"), data<uint8_t>(y),
           path_pointers(paths), data<double>(log_q));
}

void score_path(Tensor& y, const Tensor& gradient, int64_t categories, PathRule rule,
                Balancing balancing, PathBuffers& paths, Tensor& log_q) {
  const PathShape shape = path_shape(y, gradient, categories, rule, balancing, paths,
                                     sums_scratch(y.size(1)), /*steps=*/1);
  check(log_q, y, torch::kFloat64, shape.chains, "log_q");
  run_twin(y, cpu::score_path, cuda::score_path, shape, data<uint8_t>(y), data<float>(gradient),
           path_pointers(paths), data<double>(log_q));
}

namespace {

// A torch operator takes plain tensors and numbers. These adapters convert them to the arguments of
// the functions above.

void draw_path_op(const Tensor& x, const Tensor& gradient, const Tensor& rng,
                  const Tensor& chain_ids, const Tensor& radius, int64_t categories, int64_t rule,
                  int64_t balancing, Tensor y, Tensor length, Tensor site, Tensor from, Tensor to,
                  Tensor scratch, Tensor log_q) {
  PathBuffers paths{length, site, from, to, scratch};
  draw_path(x, gradient, rng, chain_ids, radius, categories, static_cast<PathRule>(rule),
            static_cast<Balancing>(balancing), y, paths, log_q);
}

void score_path_op(Tensor y, const Tensor& gradient, int64_t categories, int64_t rule,
                   int64_t balancing, Tensor length, Tensor site, Tensor from, Tensor to,
                   Tensor scratch, Tensor log_q) {
  PathBuffers paths{length, site, from, to, scratch};
  score_path(y, gradient, categories, static_cast<PathRule>(rule),
             static_cast<Balancing>(balancing), paths, log_q);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(isinglass, m) {
  m.def(
      "draw_path(Tensor x, Tensor gradient, Tensor rng, Tensor chain_ids, Tensor radius, int "
      "categories, int rule, int balancing, Tensor(a!) y, Tensor(b!) length, Tensor(c!) site, "
      "Tensor(d!) from_, Tensor(e!) to, Tensor(f!) scratch, Tensor(g!) log_q) -> ()",
      on_all_devices(draw_path_op));
  m.def(
      "score_path(Tensor(a!) y, Tensor gradient, int categories, int rule, int balancing, Tensor "
      "length, Tensor site, Tensor from_, Tensor to, Tensor(b!) scratch, Tensor(c!) log_q) -> ()",
      on_all_devices(score_path_op));
}

}  // namespace isinglass::ops
