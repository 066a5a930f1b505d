// A path of one chain drawn and scored (first_order_path.h) by a warp: CUDA twins. With the totalled sums of
// its site weights (weight_sums_cuda.h).
#pragma once

#include "kernels/path/first_order_path.h"
#include "kernels/random/philox.h"
#include "kernels/path/weight_sums_cuda.h"

namespace isinglass::cuda {

// Draws the path from x, with y = x and the sums of the weights at weighed_values(): y, the path
// and log q.
template <class Rows>
__device__ double draw_along(PathRule rule, SiteSums<Rows>& sums, const Draws& draws, uint8_t* y,
                             Path path, unsigned lane) {
  const bool frozen = rule == PathRule::kFrozen;
  const Rows& rows = sums.rows;
  PathLogQ log_q;
  for (int64_t l = 0; l < path.length; ++l) {
    const int64_t site = sums.draw_site(draws.uniform(Purpose::kSite, l), lane);
    const int from = sums.values[site];
    const bool revisit = frozen && y[site] != from;
    const int to = revisit ? from : rows.draw_value(site, from, draws.uniform(Purpose::kValue, l));
    log_q.move(revisit ? rows.log_site_weight(site, from) : rows.log_weight(site, from, to),
               sums.scale, sums.sum());
    __syncwarp();
    if (lane == 0) {
      path.site[l] = static_cast<int32_t>(site);
      path.from[l] = static_cast<uint8_t>(from);
      path.to[l] = static_cast<uint8_t>(to);
      if (!revisit) y[site] = static_cast<uint8_t>(to);
    }
    __syncwarp();
    if (l + 1 == path.length) break;  // nobody draws from these sums
    if (rule == PathRule::kLinearised) sums.update(site, lane);
    if (rule == PathRule::kNoBacktrack) sums.remove(site, lane);
  }
  return log_q.total();
}

// log q of the reversed path, with the sums of the weights at y. y is walked back and restored.
template <class Rows>
__device__ double score_along(PathRule rule, SiteSums<Rows>& sums, uint8_t* y, Path path,
                              unsigned lane) {
  const bool linearised = rule == PathRule::kLinearised;
  const Rows& rows = sums.rows;
  PathLogQ log_q;
  for (int64_t l = path.length; l-- > 0;) {
    const int64_t site = path.site[l];
    const int from = path.from[l];
    const bool revisit = from == path.to[l];
    const int value = y[site];
    log_q.move(revisit ? rows.log_site_weight(site, value) : rows.log_weight(site, value, from),
               sums.scale, sums.sum());
    if (l == 0) break;
    if (linearised) {
      __syncwarp();
      if (lane == 0) y[site] = static_cast<uint8_t>(from);
      sums.update(site, lane);
    }
    if (rule == PathRule::kNoBacktrack) sums.remove(site, lane);
  }
  __syncwarp();
  if (lane == 0) {
    for (int64_t l = 0; linearised && l < path.length; ++l) y[path.site[l]] = path.to[l];
  }
  __syncwarp();
  return log_q.total();
}

}  // namespace isinglass::cuda
