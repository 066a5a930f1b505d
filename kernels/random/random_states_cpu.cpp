// Implements random_states.h on the CPU. Rows are shared among threads, and the Philox numbers of a
// row are computed many at once in vectors.
#include <algorithm>

#include "kernels/base/threads_cpu.h"
#include "kernels/random/fast/normal_rows_cpu.h"
#include "kernels/random/fast/philox_cpu.h"
#include "kernels/random/random_states.h"

namespace isinglass::cpu {
namespace {

// Calls f(i, row.uniform(purpose, i)) for the sites i of a row.
template <class F>
void each_uniform(const PhiloxStream& row, Purpose purpose, int64_t sites, F f) {
  // philox_words() takes multiples of kMultiple counters.
  constexpr int kTile = 128, kMultiple = 8;
  uint32_t chain[kTile], position[kTile], word[4 * kTile];
  for (int i = 0; i < kTile; ++i) {
    chain[i] = row.chain;
    position[i] = static_cast<uint32_t>(i);
  }
  for (int64_t first = 0; first < sites; first += kTile) {
    const int wanted = static_cast<int>(std::min<int64_t>(kTile, sites - first));
    const int count = (wanted + kMultiple - 1) / kMultiple * kMultiple;
    philox_words(row.seed, row.step, purpose, count, chain, position, static_cast<uint32_t>(first),
                 word);
    for (int i = 0; i < wanted; ++i) f(first + i, uniform_from_words(word[i], word[count + i]));
  }
}

}  // namespace

void bernoulli_rows(const RowDraws& draws, const float* p, int64_t stride, uint8_t* out, Stream) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, draws.rows * draws.sites);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t r = 0; r < draws.rows; ++r) {
    each_uniform(draws.row(r), draws.purpose, draws.sites,
                 [&](int64_t i, double u) { out[r * draws.sites + i] = u < p[r * stride + i]; });
  }
}

void categorical_rows(const RowDraws& draws, const double* p, int categories, uint8_t* out,
                      Stream) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, draws.rows * draws.sites * categories);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t r = 0; r < draws.rows; ++r) {
    each_uniform(draws.row(r), draws.purpose, draws.sites, [&](int64_t i, double u) {
      out[r * draws.sites + i] = categorical_value(p + i * categories, categories, u);
    });
  }
}

void limited_rows(const RowDraws& draws, const LimitedSites& sites, uint8_t* out, Stream) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, draws.rows * draws.sites * sites.categories);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t r = 0; r < draws.rows; ++r) {
    const int64_t table = r / (draws.rows / sites.tables);
    int64_t left = sites.most[table];
    each_uniform(draws.row(r), draws.purpose, draws.sites, [&](int64_t i, double u) {
      out[r * draws.sites + i] = limited_value(sites, i, table * draws.sites + i, u, left);
    });
  }
}

void uniform_rows(const RowDraws& draws, int categories, uint8_t* out, Stream) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, draws.rows * draws.sites);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t r = 0; r < draws.rows; ++r) {
    each_uniform(draws.row(r), draws.purpose, draws.sites, [&](int64_t i, double u) {
      out[r * draws.sites + i] = static_cast<uint8_t>(below_from_uniform(categories, u));
    });
  }
}

void normal_rows(const RowDraws& draws, float* out, Stream) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, draws.rows * draws.sites);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t r = 0; r < draws.rows; ++r) {
    each_normal(draws.row(r), draws.purpose, draws.sites, [&](int64_t i, double number) {
      out[r * draws.sites + i] = static_cast<float>(number);
    });
  }
}

void permutation_rows(const RowDraws& draws, int64_t* out, Stream) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, draws.rows * draws.sites);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t r = 0; r < draws.rows; ++r) {
    draw_permutation(draws.row(r), draws.purpose, draws.sites, out + r * draws.sites);
  }
}

}  // namespace isinglass::cpu
