// Implements block_gibbs.h on the CPU, with loops over chains on several threads.
#include <algorithm>

#include "kernels/base/threads_cpu.h"
#include "kernels/gibbs/block_gibbs.h"

namespace isinglass::cpu {

void choose_blocks(const Blocks& blocks, bool uniform_centre, const int64_t* rng,
                   const int64_t* chain_ids, const uint8_t* x, uint8_t* u, Stream) {
  std::copy_n(x, blocks.chains * blocks.sites, u);
  for (int64_t c = 0; c < blocks.chains; ++c) {
    choose_chain_block(blocks, uniform_centre, step_draws(rng, chain_ids[c]), c, u);
  }
}

void block_states(const Blocks& blocks, const uint8_t* u, int first, int count, uint8_t* states,
                  Stream) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, blocks.chains * blocks.sites * count);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t c = 0; c < blocks.chains; ++c) {
    for (int i = 0; i < count; ++i) {
      uint8_t* state = states + (c * count + i) * blocks.sites;
      std::copy_n(u + c * blocks.sites, blocks.sites, state);
      apply_change(change_to(blocks, c, first + i), blocks.changes.radius, blocks.categories,
                   state);
    }
  }
}

void lattice_block_energies(const Lattice& lattice, const Blocks& blocks, const uint8_t* u,
                            const double* energy, double* table, Stream) {
  const int candidates = blocks.changes.count, radius = blocks.changes.radius;
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, blocks.chains * candidates);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t c = 0; c < blocks.chains; ++c) {
    const uint8_t* own = u + c * blocks.sites;
    const double at_u = energy[c] - change_energy(lattice, own, change_to_x(blocks, c), radius);
    double* row = table + c * candidates;
    row[0] = energy[c];
    for (int i = 1; i < candidates; ++i) {
      row[i] = at_u + change_energy(lattice, own, change_to(blocks, c, i), radius);
    }
  }
}

void draw_blocks(const Blocks& blocks, const double* table, const int64_t* rng,
                 const int64_t* chain_ids, uint8_t* x, uint8_t* u, double* energy, int64_t* choice,
                 const StepCounts& counts, Stream) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, blocks.chains * blocks.changes.count);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t c = 0; c < blocks.chains; ++c) {
    draw_chain_block(blocks, table, step_draws(rng, chain_ids[c]), c, x, u, energy, choice, counts);
  }
}

}  // namespace isinglass::cpu
