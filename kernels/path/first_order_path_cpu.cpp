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

// Draws the path of chain c, whose states are `from` and `to`. Returns log q.
template <class Weights>
double draw_one(const PathShape& shape, const Weights& weights, const PhiloxStream& draws,
                const uint8_t* from, uint8_t* to, const Paths& paths, int64_t c) {
  std::copy_n(from, shape.sites, to);
  WeightSums sums = path_sums(shape, weights, weighed_values(shape.rule, from, to), paths, c);
  return draw_path_of_chain(shape.rule, sums, draws, from, to,
                            path_of_chain(paths, c, paths.length[c], shape.max_length));
}

// Returns log q of the reversed path of chain c, whose state is y.
template <class Weights>
double score_one(const PathShape& shape, const Weights& weights, uint8_t* y, const Paths& paths,
                 int64_t c) {
  WeightSums sums = path_sums(shape, weights, y, paths, c);
  return score_path_of_chain(shape.rule, sums, y,
                             path_of_chain(paths, c, paths.length[c], shape.max_length));
}

// Binary sites are compiled for every instruction set, with all functions that they call inlined.
ISINGLASS_FLAT_CLONES double draw_one(const PathShape& shape, const BinaryGradientWeights& weights,
                                      const PhiloxStream& draws, const uint8_t* from, uint8_t* to,
                                      const Paths& paths, int64_t c) {
  return draw_one<BinaryGradientWeights>(shape, weights, draws, from, to, paths, c);
}
ISINGLASS_FLAT_CLONES double score_one(const PathShape& shape, const BinaryGradientWeights& weights,
                                       uint8_t* y, const Paths& paths, int64_t c) {
  return score_one<BinaryGradientWeights>(shape, weights, y, paths, c);
}

}  // namespace

void draw_path(const PathShape& shape, const uint8_t* x, const float* gradient, const int64_t* rng,
               const int64_t* chain_ids, ChainScale radius, uint8_t* y, Paths paths, double* log_q,
               Stream) {
  for_each_chain(shape, gradient, [&](const auto& weights, int64_t c) {
    const PhiloxStream draws = step_draws(rng, chain_ids[c]);
    const int64_t length = draw_path_length(draws, radius[c], shape.max_length);
    paths.length[c] = static_cast<int32_t>(length);
    log_q[c] = draw_one(shape, weights, draws, x + c * shape.sites, y + c * shape.sites, paths, c);
  });
}

void score_path(const PathShape& shape, uint8_t* y, const float* gradient, Paths paths,
                double* log_q, Stream) {
  for_each_chain(shape, gradient, [&](const auto& weights, int64_t c) {
    log_q[c] = score_one(shape, weights, y + c * shape.sites, paths, c);
  });
}

}  // namespace isinglass::cpu
