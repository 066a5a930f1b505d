// CPU twin of path.h: a thread works on one chain after the other.
#include <algorithm>
#include <cmath>

#include "kernels/path.h"
#include "kernels/path_length.h"
#include "kernels/philox.h"
#include "kernels/site_sums_cpu.h"

namespace isinglass::cpu {
namespace {

// One chain's slice of the path buffers.
struct Path {
  int64_t length;
  int32_t* site;
  uint8_t* from;
  uint8_t* to;
};

Path path_of_chain(const Paths& paths, int64_t chain, int64_t max_length) {
  const int64_t at = chain * max_length;
  return {paths.length[chain], paths.site + at, paths.from + at, paths.to + at};
}

template <class Rows>
double draw_chain(const PathShape& shape, Rows rows, const Draws& draws, const uint8_t* x,
                  uint8_t* y, Path path, double* scratch) {
  const bool frozen = shape.rule == PathRule::kFrozen;
  const uint8_t* current = frozen ? x : y;  // whose values the weights are taken at
  SiteSums<Rows> sums(rows, current, shape.sites, scratch);
  double log_q = 0;
  for (int64_t l = 0; l < path.length; ++l) {
    const int64_t site = sums.draw_site(draws.uniform(Purpose::kSite, l));
    const int from = current[site];
    const bool revisit = frozen && y[site] != from;
    const int to = revisit ? from : rows.draw_value(site, from, draws.uniform(Purpose::kValue, l));
    log_q += (revisit ? rows.log_site_weight(site, from) : rows.log_weight(site, from, to)) -
             sums.log_total();
    path.site[l] = static_cast<int32_t>(site);
    path.from[l] = static_cast<uint8_t>(from);
    path.to[l] = static_cast<uint8_t>(to);
    if (!revisit) y[site] = static_cast<uint8_t>(to);
    if (!frozen) sums.update(site);
  }
  return log_q;
}

template <class Rows>
double score_chain(const PathShape& shape, Rows rows, uint8_t* y, Path path, double* scratch) {
  SiteSums<Rows> sums(rows, y, shape.sites, scratch);
  double log_q = 0;
  for (int64_t l = path.length; l-- > 0;) {
    const int64_t site = path.site[l];
    const bool revisit = path.from[l] == path.to[l];
    const int at = y[site];  // path.to[l], except at a revisit
    log_q += (revisit ? rows.log_site_weight(site, at) : rows.log_weight(site, at, path.from[l])) -
             sums.log_total();
    if (shape.rule == PathRule::kLinearised) {
      y[site] = path.from[l];
      sums.update(site);
    }
  }
  if (shape.rule == PathRule::kLinearised) {
    for (int64_t l = 0; l < path.length; ++l) y[path.site[l]] = path.to[l];
  }
  return log_q;
}

// Calls f(rows, chain) with the chain's gradient rows, chains spread over the threads.
template <class F>
void for_each_chain(const PathShape& shape, const float* gradient, F f) {
  const int64_t stride = shape.sites * (shape.one_hot ? shape.categories : 1);
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
    log_q[c] = draw_chain(shape, rows, draws, x + c * shape.sites, y + c * shape.sites,
                          path_of_chain(paths, c, shape.max_length),
                          paths.block_sums + c * 3 * site_blocks(shape.sites));
  });
}

void score_path(const PathShape& shape, uint8_t* y, const float* gradient, Paths paths,
                double* log_q, Stream) {
  for_each_chain(shape, gradient, [&](auto rows, int64_t c) {
    log_q[c] =
        score_chain(shape, rows, y + c * shape.sites, path_of_chain(paths, c, shape.max_length),
                    paths.block_sums + c * 3 * site_blocks(shape.sites));
  });
}

}  // namespace isinglass::cpu
