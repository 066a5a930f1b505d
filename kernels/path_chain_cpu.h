// A path of one chain drawn and scored (path.h), CPU: with any sums of its site weights, those of
// site_sums_cpu.h or of kept_sums_cpu.h. Sums give draw_site, log_total, update and remove.
#pragma once

#include <cstdint>

#include "kernels/path.h"
#include "kernels/philox.h"

namespace isinglass::cpu {

// Draws the path from x, with y = x and the sums of the weights at x: y, the path and log q.
template <class Rows, class Sums>
double draw_chain(PathRule rule, Rows rows, Sums& sums, const Draws& draws, const uint8_t* x,
                  uint8_t* y, Path path) {
  const bool frozen = rule == PathRule::kFrozen;
  const uint8_t* current = weighed_values(rule, x, y);
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
    if (rule == PathRule::kLinearised) sums.update(site);
    if (rule == PathRule::kNoBacktrack) sums.remove(site);
  }
  return log_q;
}

// log q of the reversed path, with the sums of the weights at y. y is walked back and restored.
template <class Rows, class Sums>
double score_chain(PathRule rule, Rows rows, Sums& sums, uint8_t* y, Path path) {
  double log_q = 0;
  for (int64_t l = path.length; l-- > 0;) {
    const int64_t site = path.site[l];
    const bool revisit = path.from[l] == path.to[l];
    const int at = y[site];  // path.to[l], except at a revisit
    log_q += (revisit ? rows.log_site_weight(site, at) : rows.log_weight(site, at, path.from[l])) -
             sums.log_total();
    if (rule == PathRule::kLinearised) {
      y[site] = path.from[l];
      sums.update(site);
    }
    if (rule == PathRule::kNoBacktrack) sums.remove(site);
  }
  if (rule == PathRule::kLinearised) {
    for (int64_t l = 0; l < path.length; ++l) y[path.site[l]] = path.to[l];
  }
  return log_q;
}

}  // namespace isinglass::cpu
