// A path of one chain drawn and scored (first_order_path.h), CPU: with any sums of its site weights, those of
// weight_sums_cpu.h or of cached_weight_sums_cpu.h. Sums give aim, draw_site, scale, sum,
// update and remove.
#pragma once

#include <cstdint>

#include "kernels/path/first_order_path.h"
#include "kernels/random/philox.h"

namespace isinglass::cpu {

// Move l of a path from x, with the sums of the weights before it: y, the path and log q.
template <class Rows, class Sums>
void draw_move(PathRule rule, Rows rows, Sums& sums, const SiteAim& aim, const Draws& draws,
               const uint8_t* x, uint8_t* y, Path path, int64_t l, PathLogQ& log_q) {
  const bool frozen = rule == PathRule::kFrozen;
  const int64_t site = sums.draw_site(aim);
  const int from = weighed_values(rule, x, y)[site];
  const bool revisit = frozen && y[site] != from;
  const int to = revisit ? from : rows.draw_value(site, from, draws.uniform(Purpose::kValue, l));
  log_q.move(revisit ? rows.log_site_weight(site, from) : rows.log_weight(site, from, to),
             sums.scale(), sums.sum());
  path.site[l] = static_cast<int32_t>(site);
  path.from[l] = static_cast<uint8_t>(from);
  path.to[l] = static_cast<uint8_t>(to);
  if (!revisit) y[site] = static_cast<uint8_t>(to);
  if (l + 1 == path.length) return;  // nobody draws from these sums
  if (rule == PathRule::kLinearised) sums.update(site);
  if (rule == PathRule::kNoBacktrack) sums.remove(site);
}

// Move l of the path, reversed, with the sums of the weights after it, which are at y: log q. y is
// walked back where the weights follow it.
template <class Rows, class Sums>
void score_move(PathRule rule, Rows rows, Sums& sums, uint8_t* y, Path path, int64_t l,
                PathLogQ& log_q) {
  const int64_t site = path.site[l];
  const bool revisit = path.from[l] == path.to[l];
  const int at = y[site];  // path.to[l], except at a revisit
  log_q.move(revisit ? rows.log_site_weight(site, at) : rows.log_weight(site, at, path.from[l]),
             sums.scale(), sums.sum());
  if (l == 0) return;
  if (rule == PathRule::kLinearised) {
    y[site] = path.from[l];
    sums.update(site);
  }
  if (rule == PathRule::kNoBacktrack) sums.remove(site);
}

// y as it was before it was scored.
inline void restore_scored(PathRule rule, uint8_t* y, Path path) {
  if (rule != PathRule::kLinearised) return;
  for (int64_t l = 0; l < path.length; ++l) y[path.site[l]] = path.to[l];
}

}  // namespace isinglass::cpu
