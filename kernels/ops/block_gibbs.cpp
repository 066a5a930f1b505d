// Implements the tensor layer of block-Gibbs steps: it checks tensors, runs the kernels of
// block_gibbs.h and registers their torch operators.
#include "kernels/ops/block_gibbs.h"

#include "kernels/gibbs/block_gibbs.h"
#include "kernels/ops/pointers.h"

namespace isinglass::ops {
namespace {

Blocks block_pointers(const BlockTensors& b, const Tensor& u) {
  TORCH_CHECK(u.dim() == 2 && b.entry.dim() == 2 && b.site.dim() == 2,
              "isinglass operator: entry must be [N, r], site [B, m] and states [B, D]");
  const int64_t chains = u.size(0), count = b.entry.size(0), size = b.site.size(1);
  check_numbered(u.size(1), "sites");
  check(u, u, torch::kUInt8, u.numel(), "u");
  check(b.entry, u, torch::kInt32, b.entry.numel(), "entry");
  check(b.inverse, u, torch::kInt32, count, "inverse");
  check(b.site, u, torch::kInt32, chains * size, "site");
  check(b.centre, u, torch::kInt32, chains, "centre");
  TORCH_CHECK(count >= 2 && size <= u.size(1) && b.entry.size(1) <= size,
              "isinglass operator: a block must have at most D sites and a change at most m");
  const BlockChanges changes{static_cast<int>(count), static_cast<int>(b.entry.size(1)),
                             data<int32_t>(b.entry), data<int32_t>(b.inverse)};
  return {chains,
          u.size(1),
          static_cast<int>(b.categories),
          static_cast<int>(size),
          changes,
          data<int32_t>(b.site),
          data<int32_t>(b.centre)};
}

}  // namespace

void choose_blocks(BlockTensors& b, bool uniform_centre, const Tensor& rng, const Tensor& chain_ids,
                   const Tensor& x, Tensor& u) {
  const Blocks blocks = block_pointers(b, u);
  check(rng, u, torch::kInt64, 2, "rng");
  check(chain_ids, u, torch::kInt64, blocks.chains, "chain_ids");
  check(x, u, torch::kUInt8, u.numel(), "x");
  run_twin(u, cpu::choose_blocks, cuda::choose_blocks, blocks, uniform_centre, data<int64_t>(rng),
           data<int64_t>(chain_ids), data<uint8_t>(x), data<uint8_t>(u));
}

void block_states(const BlockTensors& b, const Tensor& u, int64_t first, int64_t count,
                  Tensor& states) {
  const Blocks blocks = block_pointers(b, u);
  TORCH_CHECK(first >= 1 && count >= 0 && first + count <= blocks.changes.count,
              "isinglass operator: candidates must be from 1 to N - 1");
  check(states, u, torch::kUInt8, u.numel() * count, "states");
  run_twin(u, cpu::block_states, cuda::block_states, blocks, data<uint8_t>(u),
           static_cast<int>(first), static_cast<int>(count), data<uint8_t>(states));
}

void lattice_block_energies(const LatticeTensors& lattice, const BlockTensors& b, const Tensor& u,
                            const Tensor& energy, Tensor& table) {
  const Blocks blocks = block_pointers(b, u);
  check(energy, u, torch::kFloat64, blocks.chains, "energy");
  check(table, u, torch::kFloat64, blocks.chains * blocks.changes.count, "table");
  run_twin(u, cpu::lattice_block_energies, cuda::lattice_block_energies,
           lattice_pointers(lattice, u), blocks, data<uint8_t>(u), data<double>(energy),
           data<double>(table));
}

void draw_blocks(const BlockTensors& b, const Tensor& table, const Tensor& rng,
                 const Tensor& chain_ids, Tensor& x, Tensor& u, Tensor& energy, Tensor& choice,
                 StepBuffers& counts) {
  const Blocks blocks = block_pointers(b, u);
  check(table, u, torch::kFloat64, blocks.chains * blocks.changes.count, "table");
  check(rng, u, torch::kInt64, 2, "rng");
  check(chain_ids, u, torch::kInt64, blocks.chains, "chain_ids");
  check(x, u, torch::kUInt8, u.numel(), "x");
  check(energy, u, torch::kFloat64, blocks.chains, "energy");
  check(choice, u, torch::kInt64, blocks.chains, "choice");
  run_twin(u, cpu::draw_blocks, cuda::draw_blocks, blocks, data<double>(table), data<int64_t>(rng),
           data<int64_t>(chain_ids), data<uint8_t>(x), data<uint8_t>(u), data<double>(energy),
           data<int64_t>(choice), count_pointers(counts, u, blocks.chains));
}

namespace {

// A torch operator takes plain tensors and numbers. These adapters convert them to the arguments of
// the functions above.

void choose_blocks_op(const Tensor& entry, const Tensor& inverse, int64_t categories,
                      bool uniform_centre, const Tensor& rng, const Tensor& chain_ids,
                      const Tensor& x, Tensor site, Tensor centre, Tensor u) {
  BlockTensors blocks{entry, inverse, site, centre, categories};
  choose_blocks(blocks, uniform_centre, rng, chain_ids, x, u);
}

void block_states_op(const Tensor& entry, const Tensor& inverse, int64_t categories,
                     const Tensor& site, const Tensor& centre, const Tensor& u, int64_t first,
                     int64_t count, Tensor states) {
  block_states({entry, inverse, site, centre, categories}, u, first, count, states);
}

void draw_blocks_op(const Tensor& entry, const Tensor& inverse, int64_t categories,
                    const Tensor& site, const Tensor& centre, const Tensor& table,
                    const Tensor& rng, const Tensor& chain_ids, Tensor x, Tensor u, Tensor energy,
                    Tensor choice, Tensor acceptance, Tensor hops, Tensor acceptance_sum,
                    Tensor hops_sum, Tensor non_finite) {
  StepBuffers counts{acceptance, hops, acceptance_sum, hops_sum, non_finite};
  draw_blocks({entry, inverse, site, centre, categories}, table, rng, chain_ids, x, u, energy,
              choice, counts);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(isinglass, m) {
  m.def(
      "choose_blocks(Tensor entry, Tensor inverse, int categories, bool uniform_centre, Tensor "
      "rng, Tensor chain_ids, Tensor x, Tensor(a!) site, Tensor(b!) centre, Tensor(c!) u) -> ()",
      on_all_devices(choose_blocks_op));
  m.def(
      "block_states(Tensor entry, Tensor inverse, int categories, Tensor site, Tensor centre, "
      "Tensor u, int first, int count, Tensor(a!) states) -> ()",
      on_all_devices(block_states_op));
  m.def(
      "draw_blocks(Tensor entry, Tensor inverse, int categories, Tensor site, Tensor centre, "
      "Tensor table, Tensor rng, Tensor chain_ids, Tensor(a!) x, Tensor(b!) u, Tensor(c!) energy, "
      "Tensor(d!) choice, Tensor(e!) acceptance, Tensor(f!) hops, Tensor(g!) acceptance_sum, "
      "Tensor(h!) hops_sum, Tensor(i!) non_finite) -> ()",
      on_all_devices(draw_blocks_op));
}

}  // namespace isinglass::ops
