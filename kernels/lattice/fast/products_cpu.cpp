// Implements products_cpu.h.
#include "kernels/lattice/fast/products_cpu.h"

#include "kernels/base/threads_cpu.h"

namespace isinglass::cpu {

template <class T>
void evaluate_products(const Lattice& lattice, const double* total, int64_t chains,
                       const uint8_t* x, const T* s, bool one_hot, LocalTable what, double* energy,
                       float* table) {
  const int64_t sites = lattice.sites, each = one_hot ? lattice.categories : 1;
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, chains * sites);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t c = 0; c < chains; ++c) {
    double sum = lattice.constant;
    for (int64_t i = 0; i < sites; ++i) {
      const double* unary = lattice.unary + 2 * i;
      const double of_ones = s[c * sites + i];
      const double e[] = {unary[0] - (total[i] - of_ones), unary[1] - of_ones};
      const uint8_t own = x[c * sites + i];
      sum += 0.5 * (unary[own] + e[own]);
      if (table) write_table(e, 2, own, one_hot, what, table + (c * sites + i) * each);
    }
    energy[c] = sum;
  }
}

template void evaluate_products(const Lattice&, const double*, int64_t, const uint8_t*,
                                const float*, bool, LocalTable, double*, float*);
template void evaluate_products(const Lattice&, const double*, int64_t, const uint8_t*,
                                const double*, bool, LocalTable, double*, float*);

}  // namespace isinglass::cpu
