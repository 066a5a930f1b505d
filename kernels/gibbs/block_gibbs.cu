// Performs the parts of a block-Gibbs or Hamming-ball step (CUDA version of block_gibbs.h).
//
// Regime: blocks have 128 threads. choose_blocks takes a block per chain and block_states a block
// per candidate state; their threads copy the state and the first thread changes it.
// lattice_block_energies takes one thread per candidate, and draw_blocks one thread per chain. No
// kernel uses shared memory. Lattices get their candidates' energies from lattice_block_energies;
// for all other models block_states writes the candidates, and the model evaluates them in batches.
#include "kernels/base/launch.h"
#include "kernels/gibbs/block_gibbs.h"

namespace isinglass::cuda {
namespace {

constexpr unsigned kThreads = 128;

__device__ int64_t index_of_thread() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

LaunchShape thread_per(int64_t count) {
  return {static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads};
}

__global__ void choose_blocks_kernel(Blocks blocks, bool uniform_centre, const int64_t* rng,
                                     const int64_t* chain_ids, const uint8_t* x, uint8_t* u) {
  const int64_t c = blockIdx.x;
  for (int64_t i = threadIdx.x; i < blocks.sites; i += blockDim.x) {
    u[c * blocks.sites + i] = x[c * blocks.sites + i];
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    choose_chain_block(blocks, uniform_centre, step_draws(rng, chain_ids[c]), c, u);
  }
}

__global__ void block_states_kernel(Blocks blocks, const uint8_t* u, int first, int count,
                                    uint8_t* states) {
  const int64_t c = blockIdx.x / count;
  const int i = static_cast<int>(blockIdx.x % count);
  uint8_t* state = states + static_cast<int64_t>(blockIdx.x) * blocks.sites;
  for (int64_t j = threadIdx.x; j < blocks.sites; j += blockDim.x) {
    state[j] = u[c * blocks.sites + j];
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    apply_change(change_to(blocks, c, first + i), blocks.changes.radius, blocks.categories, state);
  }
}

__global__ void lattice_block_energies_kernel(Lattice lattice, Blocks blocks, const uint8_t* u,
                                              const double* energy, double* table) {
  const int64_t index = index_of_thread();
  const int candidates = blocks.changes.count, radius = blocks.changes.radius;
  const int64_t c = index / candidates;
  const int i = static_cast<int>(index % candidates);
  if (c >= blocks.chains) return;
  const uint8_t* own = u + c * blocks.sites;
  const double at_u = energy[c] - change_energy(lattice, own, change_to_x(blocks, c), radius);
  table[index] =
      i == 0 ? energy[c] : at_u + change_energy(lattice, own, change_to(blocks, c, i), radius);
}

__global__ void draw_blocks_kernel(Blocks blocks, const double* table, const int64_t* rng,
                                   const int64_t* chain_ids, uint8_t* x, uint8_t* u, double* energy,
                                   int64_t* choice, StepCounts counts) {
  const int64_t c = index_of_thread();
  if (c < blocks.chains) {
    draw_chain_block(blocks, table, step_draws(rng, chain_ids[c]), c, x, u, energy, choice, counts);
  }
}

}  // namespace

void choose_blocks(const Blocks& blocks, bool uniform_centre, const int64_t* rng,
                   const int64_t* chain_ids, const uint8_t* x, uint8_t* u, Stream stream) {
  ISINGLASS_LAUNCH(choose_blocks_kernel, {static_cast<unsigned>(blocks.chains), kThreads}, stream,
                   blocks, uniform_centre, rng, chain_ids, x, u);
}

void block_states(const Blocks& blocks, const uint8_t* u, int first, int count, uint8_t* states,
                  Stream stream) {
  ISINGLASS_LAUNCH(block_states_kernel, {static_cast<unsigned>(blocks.chains * count), kThreads},
                   stream, blocks, u, first, count, states);
}

void lattice_block_energies(const Lattice& lattice, const Blocks& blocks, const uint8_t* u,
                            const double* energy, double* table, Stream stream) {
  ISINGLASS_LAUNCH(lattice_block_energies_kernel, thread_per(blocks.chains * blocks.changes.count),
                   stream, lattice, blocks, u, energy, table);
}

void draw_blocks(const Blocks& blocks, const double* table, const int64_t* rng,
                 const int64_t* chain_ids, uint8_t* x, uint8_t* u, double* energy, int64_t* choice,
                 const StepCounts& counts, Stream stream) {
  ISINGLASS_LAUNCH(draw_blocks_kernel, thread_per(blocks.chains), stream, blocks, table, rng,
                   chain_ids, x, u, energy, choice, counts);
}

}  // namespace isinglass::cuda
