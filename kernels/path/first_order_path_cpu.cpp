// CPU twin of first_order_path.h: a thread works on one chain after the other.
#include <algorithm>

#include "kernels/path/first_order_path.h"
#include "kernels/path/path_moves.h"
#include "kernels/path/path_length.h"
#include "kernels/random/philox.h"
#include "kernels/path/weight_sums_cpu.h"

namespace isinglass::cpu {
namespace {

template <class Rows>
SiteSums<Rows> path_sums(const PathShape& shape, Rows rows, const uint8_t* values,
                         const Paths& paths, int64_t chain) {
  double* scratch = paths.scratch + chain * sums_scratch(shape.sites);
  return {rows, values, shape.sites, scratch,
          removed_in(scratch, shape.sites, without_replacement(shape.rule))};
}

// Calls f(rows, chain) with the chain's gradient rows, chains spread over the threads.
template <class F>
void for_each_chain(const PathShape& shape, const float* gradient, F f) {
  const int64_t stride = shape.table_size();
#pragma omp parallel for schedule(static) if (worth_threads(shape.chains * shape.sites))
  for (int64_t c = 0; c < shape.chains; ++c) {
    const float* own = gradient + c * stride;
    if (shape.one_hot) {
      f(OneHotRows{own, shape.balancing, shape.categories}, c);
    } else {
      f(BinaryRows{own, shape.balancing}, c);
    }
  }
}

}  // namespace

void draw_path(const PathShape& shape, const uint8_t* x, const float* gradient, const int64_t* rng,
               const int64_t* chain_ids, const double* radius, uint8_t* y, Paths paths,
               double* log_q, Stream) {
  for_each_chain(shape, gradient, [&](auto rows, int64_t c) {
    const Draws draws = step_draws(rng, chain_ids[c]);
    paths.length[c] = static_cast<int32_t>(draw_path_length(draws, *radius, shape.max_length));
    std::copy_n(x + c * shape.sites, shape.sites, y + c * shape.sites);
    const uint8_t* from = x + c * shape.sites;
    uint8_t* to = y + c * shape.sites;
    SiteSums sums = path_sums(shape, rows, weighed_values(shape.rule, from, to), paths, c);
    const Path path = path_of_chain(paths, c, paths.length[c], shape.max_length);
    PathLogQ log_path;
    for (int64_t l = 0; l < path.length; ++l) {
      const SiteAim aim = sums.aim(draws.uniform(Purpose::kSite, l));
      draw_move(shape.rule, rows, sums, aim, draws, from, to, path, l, log_path);
    }
    log_q[c] = log_path.total();
  });
}

void score_path(const PathShape& shape, uint8_t* y, const float* gradient, Paths paths,
                double* log_q, Stream) {
  for_each_chain(shape, gradient, [&](auto rows, int64_t c) {
    uint8_t* own = y + c * shape.sites;
    SiteSums sums = path_sums(shape, rows, own, paths, c);
    const Path path = path_of_chain(paths, c, paths.length[c], shape.max_length);
    PathLogQ log_path;
    for (int64_t l = path.length; l-- > 0;) {
      score_move(shape.rule, rows, sums, own, path, l, log_path);
    }
    restore_scored(shape.rule, own, path);
    log_q[c] = log_path.total();
  });
}

}  // namespace isinglass::cpu
