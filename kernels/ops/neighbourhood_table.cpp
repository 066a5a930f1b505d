// See neighbourhood_table.h.
#include "kernels/ops/neighbourhood_table.h"

#include "kernels/jump/fast/lattice_jump.h"
#include "kernels/ops/counts.h"
#include "kernels/ops/lattice_pointers.h"
#include "kernels/ops/neighbourhood_pointers.h"

namespace isinglass::ops {

PatternTensors find_patterns(const LatticeTensors& l) {
  if (!l.unary.is_cpu()) return {};
  const int64_t sites = l.unary.size(0);
  const Lattice lattice = lattice_pointers(l, torch::empty({0, sites}, torch::kUInt8));
  if (!cpu::has_patterns(lattice)) return {};
  PatternTensors p{torch::empty({sites, kPatternNeighbours}, torch::kInt32),
                   torch::empty({sites, kPatterns}, torch::kFloat64),
                   torch::empty({sites, kPatterns}, torch::kFloat64),
                   torch::empty({sites, kPatterns}, torch::kFloat32),
                   torch::empty({sites, kPatterns}, torch::kUInt32)};
  p.constant = cpu::find_patterns(
      lattice, {data<int32_t>(p.neighbour), data<double>(p.flip_energy), data<double>(p.half_flip),
                data<float>(p.gradient), data<uint32_t>(p.undecided)});
  return p;
}

void local_jump_step(const PatternTensors& p, const Tensor& rng, const Tensor& chain_ids,
                     const Tensor& scale, LocalJumps& jumps, Tensor& x, Tensor& energy,
                     StepBuffers& counts) {
  TORCH_CHECK(x.is_cpu() && x.dim() == 2, "isinglass operator: x must be [B, D] on a CPU");
  const int64_t chains = x.size(0), sites = x.size(1);
  const SitePatterns patterns = pattern_pointers(p, x);
  check(x, x, torch::kUInt8, x.numel(), "x");
  check(rng, x, torch::kInt64, 2, "rng");
  check(chain_ids, x, torch::kInt64, chains, "chain_ids");
  check(scale, x, torch::kFloat64, 1, "scale");
  check(energy, x, torch::kFloat64, chains, "energy");
  const JumpShape shape{chains, sites, 2, false, jumps.rule, jumps.balancing};
  if (!jumps.threshold.defined()) {
    jumps.threshold = torch::empty({sites, 2, kPatterns}, torch::kInt32);
    jumps.scale = 0;
  }
  check(jumps.threshold, x, torch::kInt32, 2 * sites * kPatterns, "threshold");
  if (*data<double>(scale) != jumps.scale) {
    jumps.scale = *data<double>(scale);
    cpu::find_thresholds(shape, patterns, jumps.scale, data<int32_t>(jumps.threshold));
  }
  cpu::local_jump_step({shape, patterns, data<int32_t>(jumps.threshold), data<int64_t>(rng),
                        data<int64_t>(chain_ids), data<uint8_t>(x), data<double>(energy),
                        jumps.unadjusted, count_pointers(counts, x, chains)});
}

}  // namespace isinglass::ops
