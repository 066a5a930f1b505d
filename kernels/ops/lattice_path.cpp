// Implements whole steps of path samplers on a lattice on tensors, and the memory that they keep.
#include "kernels/ops/lattice_path.h"

#include <limits>

#include "kernels/ops/chain_scale.h"
#include "kernels/ops/pointers.h"
#include "kernels/path/fast/lattice_path.h"

namespace isinglass::ops {
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

bool LatticePaths::fit(const LatticeTensors& lattice, LocalTable what, const Tensor& x,
                       const Tensor& table) {
  if (x.is_cpu()) return true;
  PathShape shape{};
  shape.sites = x.size(1);
  shape.one_hot = table.dim() == 3;
  shape.categories = static_cast<int>(shape.one_hot ? table.size(2) : 2);
  return cuda::lattice_path_fits(
      shape.sites, cuda::lattice_table_bytes(shape, what, lattice.neighbourhoods.defined()),
      x.get_device());
}

LatticePaths LatticePaths::create(LocalTable what, PathRule rule, Balancing balancing,
                                  const Tensor& x, const Tensor& table, const Tensor& beta,
                                  int64_t max_length, int64_t most_steps) {
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
                                 : NeighbourhoodTable{}};
  run_twin(x, cpu::lattice_path_step, cuda::lattice_path_step, step);
}

}  // namespace isinglass::ops
