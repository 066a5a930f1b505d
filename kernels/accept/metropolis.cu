// Performs the Metropolis–Hastings test and copies the accepted proposals (CUDA version of
// metropolis.h).
//
// Regime: one block per group of chains, of 128 threads, or of 1024 from 16 Ki sites on. Every
// thread computes the same acceptance; then the threads share the copies of each chain. Shared
// memory holds only the 32 warp sums of the sites changed. It serves every sampler with a proposal,
// except the lattice kernels that take whole steps (fast/lattice_path.cu, fast/lattice_jump.cu) and
// test by themselves.
#include "kernels/accept/metropolis.h"
#include "kernels/base/launch.h"

namespace isinglass::cuda {
namespace {

constexpr unsigned kThreads = 128, kMostThreads = 1024;
// From this number of sites on, a chain has kMostThreads threads.
constexpr int64_t kManySites = 16 << 10;

struct alignas(16) Words {
  uint32_t of[4];
};

template <class Word>
__device__ void copy_words(char* to, const char* from, int64_t bytes) {
  for (int64_t i = threadIdx.x; i < bytes / static_cast<int64_t>(sizeof(Word)); i += blockDim.x) {
    reinterpret_cast<Word*>(to)[i] = reinterpret_cast<const Word*>(from)[i];
  }
}

// Copies one chain's row of a buffer, in words as wide as the alignment of both ends and the size
// allow. Only uint8 states whose size is no multiple of 4 bytes are copied byte by byte.
__device__ void copy_buffer(const AcceptedBuffers::Buffer& buffer, int64_t chain) {
  char* to = static_cast<char*>(buffer.current) + chain * buffer.bytes;
  const char* from = static_cast<const char*>(buffer.proposed) + chain * buffer.bytes;
  const uintptr_t alignment = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) |
                              static_cast<uintptr_t>(buffer.bytes);
  if (alignment % sizeof(Words) == 0) {
    copy_words<Words>(to, from, buffer.bytes);
  } else if (alignment % sizeof(uint32_t) == 0) {
    copy_words<uint32_t>(to, from, buffer.bytes);
  } else {
    copy_words<char>(to, from, buffer.bytes);
  }
}

__global__ void __launch_bounds__(kMostThreads)
    accept_kernel(StatePair states, ProposalScores scores, const int64_t* rng,
                  const int64_t* chain_ids, AcceptedBuffers buffers, StepCounts counts) {
  const int64_t first = blockIdx.x * scores.group;
  const Verdict verdict =
      metropolis(scores, first, step_draws(rng, chain_ids[first]).uniform(Purpose::kAccept));
  for (int64_t c = first; c < first + scores.group; ++c) {
    int own = 0;
    with_site_type(states, [&](const auto* x, const auto* y) {
      const int64_t end = verdict.accept ? (c + 1) * states.sites : 0;
      for (int64_t i = c * states.sites + threadIdx.x; i < end; i += blockDim.x)
        own += x[i] != y[i];
    });
    // The block sum is also a barrier: after it no thread reads U(x) or x, which the copies
    // overwrite.
    const auto moved = static_cast<int>(block_sum(own));
    for (int r = 0; verdict.accept && r < buffers.count; ++r) copy_buffer(buffers.buffer[r], c);
    if (threadIdx.x == 0) count_verdict(counts, c, verdict, moved);
  }
}

__global__ void advance_kernel(int64_t* rng, int64_t steps) {
  rng[1] += steps;
}

}  // namespace

void accept(int64_t chains, const StatePair& states, const ProposalScores& scores,
            const int64_t* rng, const int64_t* chain_ids, const AcceptedBuffers& buffers,
            const StepCounts& counts, Stream stream) {
  const auto groups = static_cast<unsigned>(chains / scores.group);
  const unsigned threads = states.sites < kManySites ? kThreads : kMostThreads;
  ISINGLASS_LAUNCH(accept_kernel, {groups, threads}, stream, states, scores, rng, chain_ids,
                   buffers, counts);
}

void advance(int64_t* rng, int64_t steps, Stream stream) {
  ISINGLASS_LAUNCH(advance_kernel, {1, 1}, stream, rng, steps);
}

}  // namespace isinglass::cuda
