// Implements tabulated_site.h on the CPU, with chains shared among threads.
#include <algorithm>

#include "kernels/base/threads_cpu.h"
#include "kernels/path/tabulated_site.h"
#include "kernels/path/weight_sums_cpu.h"
#include "kernels/random/philox.h"

namespace isinglass::cpu {
namespace {

// Calls f(row, sums, chain) for all chains, which are shared among the threads.
template <class F>
void for_each_chain(const TableShape& shape, const double* table, const uint8_t* x,
                    double* block_sums, F f) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, shape.chains * shape.sites);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t c = 0; c < shape.chains; ++c) {
    const double* row = table + c * shape.sites;
    f(row,
      WeightSums<TabulatedWeights>({row}, x + c * shape.sites, shape.sites,
                                   block_sums + c * block_sums_size(shape.sites)),
      c);
  }
}

}  // namespace

void draw_tabulated_site(const TableShape& shape, const double* table, const uint8_t* x,
                         const int64_t* rng, const int64_t* chain_ids, int64_t position, uint8_t* y,
                         int64_t* site, double* block_sums, double* log_q, Stream) {
  for_each_chain(shape, table, x, block_sums, [&](const double* row, const auto& sums, int64_t c) {
    const double u =
        step_draws(rng, chain_ids[c]).uniform(Purpose::kSite, static_cast<uint32_t>(position));
    const int64_t drawn = sums.draw_site(sums.locate(u));
    uint8_t* own = y + c * shape.sites;
    std::copy_n(x + c * shape.sites, shape.sites, own);
    own[drawn] = static_cast<uint8_t>(1 - own[drawn]);
    site[c] = drawn;
    log_q[c] = row[drawn] - sums.log_total();
  });
}

void score_tabulated_site(const TableShape& shape, const double* table, const uint8_t* x,
                          const int64_t* site, double* block_sums, double* log_q, Stream) {
  for_each_chain(shape, table, x, block_sums, [&](const double* row, const auto& sums, int64_t c) {
    log_q[c] = row[site[c]] - sums.log_total();
  });
}

void log_balances(int64_t count, const double* d, double* out, Stream) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, count);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t i = 0; i < count; ++i) {
    for (int g = 0; g < kBalancings; ++g) {
      out[g * count + i] = log_balance(static_cast<Balancing>(g), d[i]);
    }
  }
}

}  // namespace isinglass::cpu
