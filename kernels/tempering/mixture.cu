// Mixes energies, gradients or differences of two models (CUDA version of mixture.h).
//
// Regime: one warp per row, whose lanes stride over its columns; if rows have one number, one
// thread per row. Blocks have 128 threads and use no shared memory. It serves all mixtures on a
// GPU; mixture_cpu.cpp serves the CPU.
#include "kernels/base/launch.h"
#include "kernels/tempering/mixture.h"

namespace isinglass::cuda {
namespace {

constexpr unsigned kThreads = 128, kWarp = 32;

template <class T>
__global__ void mix_kernel(Mixture<T> mixture, int64_t lanes) {
  const int64_t t = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (t / lanes < mixture.rows) mixture.row(t / lanes, t % lanes, lanes);
}

template <class T>
void mix_rows(const Mixture<T>& mixture, Stream stream) {
  const int64_t lanes = mixture.columns > 1 ? kWarp : 1;
  const auto blocks = static_cast<unsigned>((mixture.rows * lanes + kThreads - 1) / kThreads);
  ISINGLASS_LAUNCH(mix_kernel<T>, {blocks, kThreads}, stream, mixture, lanes);
}

}  // namespace

void mix(const Mixture<double>& mixture, Stream stream) {
  mix_rows(mixture, stream);
}

void mix(const Mixture<float>& mixture, Stream stream) {
  mix_rows(mixture, stream);
}

}  // namespace isinglass::cuda
