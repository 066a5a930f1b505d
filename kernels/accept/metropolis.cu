// CUDA twin of metropolis.h: one block per group of chains; every thread computes the same verdict,
// then the threads share the copies.
#include "kernels/accept/metropolis.h"
#include "kernels/base/launch.h"

namespace isinglass::cuda {
namespace {

constexpr unsigned kThreads = 128, kMostThreads = 1024;
constexpr int64_t kManySites = 16 << 10;  // from which a chain has the most

struct alignas(16) Words {
  uint32_t of[4];
};

template <class Word>
__device__ void copy_words(char* to, const char* from, int64_t bytes) {
  for (int64_t i = threadIdx.x; i < bytes / static_cast<int64_t>(sizeof(Word)); i += blockDim.x) {
    reinterpret_cast<Word*>(to)[i] = reinterpret_cast<const Word*>(from)[i];
  }
}

// Copies in words as wide as both ends allow (bytes: narrow uint8 states alone).
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
    const auto moved = static_cast<int>(block_sum(own));  // all have read U(x) and x then
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
