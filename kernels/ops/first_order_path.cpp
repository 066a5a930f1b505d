// See first_order_path.h.
#include "kernels/ops/first_order_path.h"

#include "kernels/path/fast/lattice_path.h"
#include "kernels/ops/check.h"
#include "kernels/ops/counts.h"
#include "kernels/ops/lattice_pointers.h"

namespace isinglass::ops {
namespace {

// paths.length has room for the lengths of so many steps.
PathShape path_shape(const Tensor& x, const Tensor& gradient, PathRule rule, Balancing balancing,
                     const PathBuffers& paths, int64_t scratch, int64_t steps = 1) {
  TORCH_CHECK(x.dim() == 2 && (gradient.dim() == 2 || gradient.dim() == 3),
              "isinglass operator: x must be [B, D] and its gradient [B, D] or [B, D, K]");
  const bool one_hot = gradient.dim() == 3;
  const int categories = one_hot ? static_cast<int>(gradient.size(2)) : 2;
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
  return {chains, x.size(1), categories, one_hot, rule, balancing, max_length};
}

Paths path_pointers(const PathBuffers& paths) {
  return {data<int32_t>(paths.length), data<int32_t>(paths.site), data<uint8_t>(paths.from),
          data<uint8_t>(paths.to), data<double>(paths.scratch)};
}

}  // namespace

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
               const Tensor& radius, PathRule rule, Balancing balancing, Tensor& y,
               PathBuffers& paths, Tensor& log_q) {
  const PathShape shape = path_shape(x, gradient, rule, balancing, paths, sums_scratch(x.size(1)));
  check(rng, x, torch::kInt64, 2, "rng");
  check(chain_ids, x, torch::kInt64, shape.chains, "chain_ids");
  check(radius, x, torch::kFloat64, 1, "radius");
  check(y, x, torch::kUInt8, x.numel(), "y");
  check(log_q, x, torch::kFloat64, shape.chains, "log_q");
  run_twin(x, cpu::draw_path, cuda::draw_path, shape, data<uint8_t>(x), data<float>(gradient),
           data<int64_t>(rng), data<int64_t>(chain_ids), data<double>(radius), data<uint8_t>(y),
           path_pointers(paths), data<double>(log_q));
}

void score_path(Tensor& y, const Tensor& gradient, PathRule rule, Balancing balancing,
                PathBuffers& paths, Tensor& log_q) {
  const PathShape shape = path_shape(y, gradient, rule, balancing, paths, sums_scratch(y.size(1)));
  check(log_q, y, torch::kFloat64, shape.chains, "log_q");
  run_twin(y, cpu::score_path, cuda::score_path, shape, data<uint8_t>(y), data<float>(gradient),
           path_pointers(paths), data<double>(log_q));
}

namespace {

int64_t kept_numbers(const Tensor& x) {
  return x.is_cpu() ? cpu::kept_weights(x.size(1)) : 0;
}

}  // namespace

bool LocalPaths::fit(const Tensor& x, const Tensor& table) {
  return x.is_cpu() || cuda::local_path_fits(x.size(1), table.stride(0), x.get_device());
}

LocalPaths LocalPaths::create(SiteTable what, PathRule rule, Balancing balancing, const Tensor& x,
                              const Tensor& table, int64_t max_length, int64_t most_steps) {
  LocalPaths paths{what, rule, balancing,
                   PathBuffers::create(x.size(0), x.size(1), max_length, x.device())};
  Tensor& kept = paths.buffers.scratch;
  kept = torch::zeros({x.size(0), kept_numbers(x)}, kept.options());
  Tensor& length = paths.buffers.length;
  length = torch::zeros({most_steps, x.size(0)}, length.options());
  const PathShape shape =
      path_shape(x, table, rule, balancing, paths.buffers, kept_numbers(x), most_steps);
  if (x.is_cpu()) {
    cpu::keep_weights(shape, what, data<uint8_t>(x), data<float>(table), data<double>(kept),
                      nullptr);
  }
  return paths;
}

void local_path_step(const LatticeTensors& lattice, int64_t steps, const Tensor& rng,
                     const Tensor& chain_ids, const Tensor& radius, Tensor& x, Tensor& y,
                     Tensor& table, Tensor& energy, LocalPaths& paths, StepBuffers& counts) {
  const int64_t most_steps = paths.buffers.length.size(0);
  TORCH_CHECK(steps <= most_steps, "isinglass operator: local paths for ", most_steps, " steps");
  const PathShape shape =
      path_shape(x, table, paths.rule, paths.balancing, paths.buffers, kept_numbers(x), most_steps);
  check(rng, x, torch::kInt64, 2, "rng");
  check(chain_ids, x, torch::kInt64, shape.chains, "chain_ids");
  check(radius, x, torch::kFloat64, 1, "radius");
  check(y, x, torch::kUInt8, x.numel(), "y");
  check(energy, x, torch::kFloat64, shape.chains, "energy");
  const LocalPathStep step{steps,
                           shape,
                           paths.what,
                           lattice_pointers(lattice, x),
                           data<int64_t>(rng),
                           data<int64_t>(chain_ids),
                           data<double>(radius),
                           data<uint8_t>(x),
                           data<uint8_t>(y),
                           data<float>(table),
                           data<double>(energy),
                           data<double>(paths.buffers.scratch),
                           path_pointers(paths.buffers),
                           count_pointers(counts, x, shape.chains)};
  run_twin(x, cpu::local_path_step, cuda::local_path_step, step);
}

namespace {

// The operators' schemas hold plain tensors and numbers; these adapters group them.

void draw_path_op(const Tensor& x, const Tensor& gradient, const Tensor& rng,
                  const Tensor& chain_ids, const Tensor& radius, int64_t rule, int64_t balancing,
                  Tensor y, Tensor length, Tensor site, Tensor from, Tensor to, Tensor scratch,
                  Tensor log_q) {
  PathBuffers paths{length, site, from, to, scratch};
  draw_path(x, gradient, rng, chain_ids, radius, static_cast<PathRule>(rule),
            static_cast<Balancing>(balancing), y, paths, log_q);
}

void score_path_op(Tensor y, const Tensor& gradient, int64_t rule, int64_t balancing, Tensor length,
                   Tensor site, Tensor from, Tensor to, Tensor scratch, Tensor log_q) {
  PathBuffers paths{length, site, from, to, scratch};
  score_path(y, gradient, static_cast<PathRule>(rule), static_cast<Balancing>(balancing), paths,
             log_q);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(isinglass, m) {
  m.def(
      "draw_path(Tensor x, Tensor gradient, Tensor rng, Tensor chain_ids, Tensor radius, int rule, "
      "int balancing, Tensor(a!) y, Tensor(b!) length, Tensor(c!) site, Tensor(d!) from_, "
      "Tensor(e!) to, Tensor(f!) scratch, Tensor(g!) log_q) -> ()");
  m.def(
      "score_path(Tensor(a!) y, Tensor gradient, int rule, int balancing, Tensor length, Tensor "
      "site, Tensor from_, Tensor to, Tensor(b!) scratch, Tensor(c!) log_q) -> ()");
}

// One function serves both keys: it picks the twin by its tensors' device.
TORCH_LIBRARY_IMPL(isinglass, CPU, m) {
  m.impl("draw_path", &draw_path_op);
  m.impl("score_path", &score_path_op);
}
TORCH_LIBRARY_IMPL(isinglass, CUDA, m) {
  m.impl("draw_path", &draw_path_op);
  m.impl("score_path", &score_path_op);
}

}  // namespace isinglass::ops
