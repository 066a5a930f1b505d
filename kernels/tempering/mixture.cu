// CUDA twin of mixture.h: a warp a row, whose lanes take its columns in turn; of rows of one
// number, a thread a row.
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
