// Implements the tensor layer of path proposals: it checks tensors and runs the kernels of
// first_order_path.h, exact_path.h, lattice_path.h and tabulated_site.h.
#include "kernels/ops/path.h"

#include <limits>

#include "kernels/ops/check.h"
#include "kernels/path/fast/lattice_path.h"
#include "kernels/path/move_weights.h"

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

ExactPathShape exact_path_shape(const Tensor& y, const Tensor& differences, Balancing balancing,
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
  const ExactPathShape shape = exact_path_shape(y, differences, balancing, max_length);
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

int64_t kept_numbers(const Tensor& x) {
  return x.is_cpu() ? cpu::cached_weights(x.size(1)) : 0;
}

// Returns the checked shape of paths on binary or one-hot sites.
PathShape local_shape(const Tensor& x, const Tensor& table, const LatticePaths& paths) {
  return path_shape(x, table, table.dim() == 3 ? table.size(2) : 2, paths.rule, paths.balancing,
                    paths.buffers, kept_numbers(x), paths.buffers.length.size(0));
}

}  // namespace

bool LatticePaths::fit(const LatticeTensors& lattice, LocalTable what, bool one_hot,
                       torch::Device device) {
  if (device.is_cpu()) return true;
  PathShape shape{};
  shape.sites = lattice.unary.size(0);
  shape.one_hot = one_hot;
  shape.categories = static_cast<int>(one_hot ? lattice.unary.size(1) : 2);
  return cuda::lattice_path_fits(
      shape.sites, cuda::lattice_table_bytes(shape, what, lattice.neighbourhoods.defined()),
      device.index());
}

bool LatticePaths::keeps_fields(const LatticeTensors& lattice, bool one_hot) {
  return lattice.exact_sums && !one_hot && lattice.unary.is_cpu();
}

LatticePaths LatticePaths::create(const LatticeTensors& lattice, LocalTable what, PathRule rule,
                                  Balancing balancing, const Tensor& x, const Tensor& table,
                                  const Tensor& beta, int64_t max_length, int64_t most_steps) {
  LatticePaths paths{what, rule, balancing,
                     PathBuffers::create(x.size(0), x.size(1), max_length, x.device())};
  Tensor& kept = paths.buffers.scratch;
  kept = torch::zeros({x.size(0), kept_numbers(x)}, kept.options());
  Tensor& length = paths.buffers.length;
  length = torch::zeros({most_steps, x.size(0)}, length.options());
  const PathShape shape = local_shape(x, table, paths);
  if (x.is_cpu() && beta.defined()) {
    paths.kept_beta = torch::full_like(beta, std::numeric_limits<double>::quiet_NaN());
  } else if (x.is_cpu()) {
    cpu::cache_weights(shape, what, data<uint8_t>(x), data<float>(table), data<double>(kept),
                       nullptr);
  }
  if (keeps_fields(lattice, shape.one_hot)) {
    constexpr uint8_t kNoValue = 255;
    paths.field = torch::empty(x.sizes(), x.options().dtype(torch::kFloat64));
    paths.field_state = torch::full_like(x, kNoValue);
  }
  return paths;
}

void lattice_path_step(const LatticeTensors& lattice, int64_t steps, const Tensor& rng,
                       const Tensor& chain_ids, const Tensor& radius, const Tensor& beta, Tensor& x,
                       Tensor& y, Tensor& table, Tensor& energy, LatticePaths& paths,
                       StepBuffers& counts) {
  const int64_t most_steps = paths.buffers.length.size(0);
  TORCH_CHECK(steps <= most_steps, "isinglass operator: the buffers of local paths hold at most ",
              most_steps, " steps");
  const PathShape shape = local_shape(x, table, paths);
  check(rng, x, torch::kInt64, 2, "rng");
  check(chain_ids, x, torch::kInt64, shape.chains, "chain_ids");
  if (beta.defined()) check(beta, x, torch::kFloat64, shape.chains, "beta");
  check(y, x, torch::kUInt8, x.numel(), "y");
  check(energy, x, torch::kFloat64, shape.chains, "energy");
  const LatticePathStep step{steps,
                             shape,
                             paths.what,
                             lattice_pointers(lattice, x),
                             data<int64_t>(rng),
                             data<int64_t>(chain_ids),
                             chain_scale(radius, x, shape.chains, 1, "radius"),
                             data<uint8_t>(x),
                             data<uint8_t>(y),
                             data<float>(table),
                             data<double>(energy),
                             data<double>(paths.buffers.scratch),
                             path_pointers(paths.buffers),
                             count_pointers(counts, x, shape.chains),
                             data<double>(beta),
                             data<double>(paths.kept_beta),
                             x.is_cuda() && lattice.neighbourhoods.defined()
                                 ? neighbourhood_pointers(lattice.neighbourhoods, x)
                                 : NeighbourhoodTable{},
                             data<double>(paths.field),
                             data<uint8_t>(paths.field_state)};
  run_twin(x, cpu::lattice_path_step, cuda::lattice_path_step, step);
}

namespace {

TableShape table_shape(const Tensor& table, const Tensor& x, const SiteBuffers& drawn,
                       const Tensor& log_q) {
  TORCH_CHECK(x.dim() == 2, "isinglass operator: x must be [B, D]");
  const int64_t chains = x.size(0), sites = x.size(1);
  check(x, x, torch::kUInt8, x.numel(), "a state");
  check(table, x, torch::kFloat64, x.numel(), "table");
  check(drawn.site, x, torch::kInt64, chains, "site");
  check(drawn.block_sums, x, torch::kFloat64, chains * block_sums_size(sites), "block_sums");
  check(log_q, x, torch::kFloat64, chains, "log_q");
  return {chains, sites};
}

}  // namespace

SiteBuffers SiteBuffers::create(int64_t chains, int64_t sites, torch::Device device) {
  const auto on = torch::TensorOptions().device(device);
  return {torch::zeros({chains}, on.dtype(torch::kInt64)),
          torch::zeros({chains, block_sums_size(sites)}, on.dtype(torch::kFloat64))};
}

void draw_tabulated_site(const Tensor& table, const Tensor& x, const Tensor& rng,
                         const Tensor& chain_ids, int64_t position, Tensor& y, SiteBuffers& drawn,
                         Tensor& log_q) {
  const TableShape shape = table_shape(table, x, drawn, log_q);
  check(rng, x, torch::kInt64, 2, "rng");
  check(chain_ids, x, torch::kInt64, shape.chains, "chain_ids");
  check(y, x, torch::kUInt8, x.numel(), "y");
  run_twin(x, cpu::draw_tabulated_site, cuda::draw_tabulated_site, shape, data<double>(table),
           data<uint8_t>(x), data<int64_t>(rng), data<int64_t>(chain_ids), position,
           data<uint8_t>(y), data<int64_t>(drawn.site), data<double>(drawn.block_sums),
           data<double>(log_q));
}

void score_tabulated_site(const Tensor& table, const Tensor& x, SiteBuffers& drawn, Tensor& log_q) {
  const TableShape shape = table_shape(table, x, drawn, log_q);
  run_twin(x, cpu::score_tabulated_site, cuda::score_tabulated_site, shape, data<double>(table),
           data<uint8_t>(x), data<int64_t>(drawn.site), data<double>(drawn.block_sums),
           data<double>(log_q));
}

void log_balances(const Tensor& d, Tensor& out) {
  check(d, d, torch::kFloat64, d.numel(), "d");
  check(out, d, torch::kFloat64, kBalancings * d.numel(), "out");
  run_twin(d, cpu::log_balances, cuda::log_balances, d.numel(), data<double>(d), data<double>(out));
}

}  // namespace isinglass::ops
