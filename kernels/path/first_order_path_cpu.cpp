// Implements first_order_path.h on the CPU, with chains shared among threads.
#include <algorithm>

#include "kernels/base/threads_cpu.h"
#include "kernels/path/path_moves.h"
#include "kernels/path/weight_sums_cpu.h"
#include "kernels/random/path_length.h"

namespace isinglass::cpu {
namespace {

template <class Weights>
WeightSums<Weights> path_sums(const PathShape& shape, const Weights& weights, const uint8_t* values,
                              const Paths& paths, int64_t chain) {
  double* scratch = paths.scratch + chain * sums_scratch(shape.sites);
  return {weights, values, shape.sites, scratch,
          removed_in(scratch, shape.sites, without_replacement(shape.rule))};
}

// Calls f(weights, chain) for all chains, which are shared among the threads.
template <class F>
void for_each_chain(const PathShape& shape, const float* gradient, F f) {
  const int64_t stride = shape.table_size();
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, shape.chains * shape.sites);
  reserve_numbers(loop.on_all_threads(), shape.sites);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t c = 0; c < shape.chains; ++c) {
    with_gradient_weights(shape, gradient + c * stride, [&](auto weights) { f(weights, c); });
  }
}

}  // namespace

void draw_path(const PathShape& shape, const uint8_t* x, const float* gradient, const int64_t* rng,
               const int64_t* chain_ids, ChainScale radius, uint8_t* y, Paths paths, double* log_q,
               Stream) {
  for_each_chain(shape, gradient, [&](auto weights, int64_t c) {
    const PhiloxStream draws = step_draws(rng, chain_ids[c]);
    const int64_t length = draw_path_length(draws, radius[c], shape.max_length);
    paths.length[c] = static_cast<int32_t>(length);
    const uint8_t* from = x + c * shape.sites;
    uint8_t* to = y + c * shape.sites;
    std::copy_n(from, shape.sites, to);
    WeightSums sums = path_sums(shape, weights, weighed_values(shape.rule, from, to), paths, c);
    log_q[c] = draw_path_of_chain(shape.rule, sums, draws, from, to,
                                  path_of_chain(paths, c, length, shape.max_length));
  });
}

void score_path(const PathShape& shape, uint8_t* y, const float* gradient, Paths paths,
                double* log_q, Stream) {
  for_each_chain(shape, gradient, [&](auto weights, int64_t c) {
    uint8_t* own = y + c * shape.sites;
    WeightSums sums = path_sums(shape, weights, own, paths, c);
    log_q[c] = score_path_of_chain(shape.rule, sums, own,
                                   path_of_chain(paths, c, paths.length[c], shape.max_length));
  });
}

}  // namespace isinglass::cpu
