// Implements mixture.h on the CPU, with rows shared among threads.
#include "kernels/base/threads_cpu.h"
#include "kernels/tempering/mixture.h"

namespace isinglass::cpu {
namespace {

template <class T>
void mix_rows(const Mixture<T>& mixture) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, mixture.rows * mixture.columns);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t r = 0; r < mixture.rows; ++r) mixture.row(r, 0, 1);
}

}  // namespace

void mix(const Mixture<double>& mixture, Stream) {
  mix_rows(mixture);
}

void mix(const Mixture<float>& mixture, Stream) {
  mix_rows(mixture);
}

}  // namespace isinglass::cpu
