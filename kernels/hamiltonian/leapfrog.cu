// CUDA twin of leapfrog.h: one block per chain, or per group where particles move together; threads
// over sites. A thread moves its sites of all particles of a group: nothing else reads them.
#include "kernels/base/launch.h"
#include "kernels/hamiltonian/leapfrog.h"

namespace isinglass::cuda {
namespace {

constexpr unsigned kThreads = 128;

__global__ void refresh_momentum_kernel(ParticleShape shape, const int64_t* rng,
                                        const int64_t* chain_ids, double damping, double* kept,
                                        double* momentum) {
  const int64_t c = blockIdx.x;
  const Draws draws = step_draws(rng, chain_ids[c]);
  for (int64_t i = threadIdx.x; i < shape.sites; i += blockDim.x) {
    momentum[c * shape.sites + i] = refreshed_momentum(shape, draws, damping, c, i, kept);
  }
}

__global__ void choose_leaders_kernel(ParticleShape shape, const double* energy, double strength,
                                      int64_t* leader, double* pull) {
  const int64_t g = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (g < shape.chains / shape.group) {
    choose_leader(shape, g, energy, strength, leader, pull);
  }
}

__global__ void kick_and_drift_kernel(ParticleShape shape, ForceField field, ChainScale step_size,
                                      Leap leap, double* momentum, float* to) {
  const int64_t first = blockIdx.x * shape.group, last = first + shape.group;
  const double kick = leap.kick * step_size[first], drift = leap.drift * step_size[first];
  for (int64_t i = threadIdx.x; i < shape.sites; i += blockDim.x) {
    for (int64_t c = first; c < last; ++c) kick_site(shape, field, kick, c, i, momentum);
    for (int64_t c = first; c < last; ++c) {
      const int64_t at = c * shape.sites + i;
      to[at] = drifted_site(shape, field, drift, momentum, at);
    }
  }
}

__global__ void log_momentum_kernel(ParticleShape shape, ForceField field, const double* momentum,
                                    double* out) {
  const int64_t c = blockIdx.x;
  double sum = 0;
  for (int64_t i = threadIdx.x; i < shape.sites; i += blockDim.x) {
    sum += log_momentum_share(shape, field, momentum, c, i);
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) out[c] = sum;
}

LaunchShape block_per_chain(const ParticleShape& shape) {
  return {static_cast<unsigned>(shape.chains), kThreads};
}

}  // namespace

void refresh_momentum(const ParticleShape& shape, const int64_t* rng, const int64_t* chain_ids,
                      double damping, double* kept, double* momentum, Stream stream) {
  ISINGLASS_LAUNCH(refresh_momentum_kernel, block_per_chain(shape), stream, shape, rng, chain_ids,
                   damping, kept, momentum);
}

void choose_leaders(const ParticleShape& shape, const double* energy, double strength,
                    int64_t* leader, double* pull, Stream stream) {
  const int64_t groups = shape.chains / shape.group;
  ISINGLASS_LAUNCH(choose_leaders_kernel, {static_cast<unsigned>((groups + 127) / 128), kThreads},
                   stream, shape, energy, strength, leader, pull);
}

void kick_and_drift(const ParticleShape& shape, const ForceField& field, ChainScale step_size,
                    Leap leap, double* momentum, float* to, Stream stream) {
  const auto groups = static_cast<unsigned>(shape.chains / shape.group);
  ISINGLASS_LAUNCH(kick_and_drift_kernel, {groups, kThreads}, stream, shape, field, step_size, leap,
                   momentum, to);
}

void log_momentum(const ParticleShape& shape, const ForceField& field, const double* momentum,
                  double* out, Stream stream) {
  ISINGLASS_LAUNCH(log_momentum_kernel, block_per_chain(shape), stream, shape, field, momentum,
                   out);
}

}  // namespace isinglass::cuda
