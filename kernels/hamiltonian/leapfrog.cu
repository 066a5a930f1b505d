// Refreshes momenta and performs kicks and drifts of Hamiltonian trajectories (CUDA version of
// leapfrog.h).
//
// Regime: refresh_momentum takes blocks of 128 threads over chains and tiles of Philox calls.
// kick_and_drift takes blocks of 128 threads over groups and tiles of 128 sites; if log densities
// of momenta are wanted, which sum over sites, one block of 512 threads per group. A thread moves
// its sites in all particles of a group, and no other thread reads them. Every block finds the
// leader and the pulls again; shared memory holds the pulls of 256 particles (2 KiB) and the warp
// sums. Log densities are computed in the same launch as the kick, so that a trajectory of L
// leapfrog steps takes a refresh and L + 1 of these launches. It serves all Hamiltonian samplers on
// a GPU; leapfrog_cpu.cpp serves the CPU.
#include "kernels/base/launch.h"
#include "kernels/hamiltonian/leapfrog.h"

namespace isinglass::cuda {
namespace {

// kThreads work on a tile, kSumThreads on a group if sites are summed.
constexpr unsigned kThreads = 128, kSumThreads = 512;
constexpr int64_t kPulls = 256;  // The pulls of this many particles are in shared memory at a time.

int64_t tiles_of(int64_t number) {
  return (number + kThreads - 1) / kThreads;
}

// Gives the sites, or Philox calls, that a thread works on.
struct ThreadShare {
  int64_t first, stride;

  __device__ explicit ThreadShare(int64_t tiles)
      : first(blockIdx.x % tiles * blockDim.x + threadIdx.x), stride(tiles * blockDim.x) {}
};

__global__ void refresh_momentum_kernel(ParticleShape shape, int64_t tiles, const int64_t* rng,
                                        const int64_t* chain_ids, double damping, double* kept,
                                        double* momentum) {
  const int64_t c = blockIdx.x / tiles;
  const ThreadShare calls(tiles);
  const PhiloxStream draws = step_draws(rng, chain_ids[c]);
  for (int64_t n = calls.first; n < NormalCall::count(shape.sites); n += calls.stride) {
    each_normal_of(draws, Purpose::kNoise, {n}, shape.sites, [&](int64_t i, double noise) {
      momentum[c * shape.sites + i] = refreshed_momentum(shape, noise, damping, c, i, kept);
    });
  }
}

// Returns a particle's log density of momentum, to the first thread.
__device__ double log_momentum(const ParticleShape& shape, const ForceField& field, bool elastic,
                               const Pulled& particle, const double* momentum) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < shape.sites; i += blockDim.x) {
    sum += log_momentum_share(shape, field, elastic, particle, momentum, i);
  }
  return block_sum(sum);
}

__global__ void kick_and_drift_kernel(ParticleShape shape, int64_t tiles, ForceField field,
                                      ChainScale step_size, Leap leap, double* momentum, float* to,
                                      LogMomenta log) {
  double* const pull = dynamic_shared_memory<double>();  // [kPulls]
  const int64_t first = blockIdx.x / tiles * shape.group, last = first + shape.group;
  const int64_t leader = leader_of(shape, field, first);
  const double kick = leap.kick * step_size[first], drift = leap.drift * step_size[first];
  const ThreadShare sites(tiles);
  for (int64_t begin = first; begin < last; begin += kPulls) {
    const int64_t end = begin + kPulls < last ? begin + kPulls : last;
    __syncthreads();  // Waits until the previous pulls have been read.
    for (int64_t c = begin + threadIdx.x; c < end; c += blockDim.x) {
      pull[c - begin] = Pulled(field, c, leader).pull;
    }
    __syncthreads();
    for (int64_t c = begin; c < end; ++c) {
      const Pulled particle(c, pull[c - begin], leader);
      if (log.before) {
        const double before = log_momentum(shape, field, log.elastic, particle, momentum);
        if (threadIdx.x == 0) log.before[c] = before;
      }
      for (int64_t i = sites.first; i < shape.sites; i += sites.stride) {
        kick_site(shape, field, kick, particle, i, momentum);
      }
      if (log.after) {
        const double after = log_momentum(shape, field, log.elastic, particle, momentum);
        if (threadIdx.x == 0) log.after[c] = after;
      }
    }
  }
  for (int64_t i = sites.first; i < shape.sites; i += sites.stride) {
    for (int64_t c = first; c < last; ++c) {
      const int64_t at = c * shape.sites + i;
      to[at] = drifted_site(shape, field, drift, momentum, at);
    }
  }
}

}  // namespace

void refresh_momentum(const ParticleShape& shape, const int64_t* rng, const int64_t* chain_ids,
                      double damping, double* kept, double* momentum, Stream stream) {
  const int64_t tiles = tiles_of(NormalCall::count(shape.sites));
  ISINGLASS_LAUNCH(refresh_momentum_kernel, {static_cast<unsigned>(shape.chains * tiles), kThreads},
                   stream, shape, tiles, rng, chain_ids, damping, kept, momentum);
}

void kick_and_drift(const ParticleShape& shape, const ForceField& field, ChainScale step_size,
                    Leap leap, double* momentum, float* to, const LogMomenta& log, Stream stream) {
  const bool sums = log.before || log.after;
  const int64_t groups = shape.chains / shape.group, tiles = sums ? 1 : tiles_of(shape.sites);
  const LaunchShape launch{static_cast<unsigned>(groups * tiles), sums ? kSumThreads : kThreads,
                           kPulls * sizeof(double)};
  ISINGLASS_LAUNCH(kick_and_drift_kernel, launch, stream, shape, tiles, field, step_size, leap,
                   momentum, to, log);
}

}  // namespace isinglass::cuda
