// Draws and scores the moves of a path. The CPU and the GPU share this code, for whole paths as
// well as for the lattice steps that make the moves one by one.
//
// `Sums` holds the two-level sums of a chain's weights (move_weights.h). It must have site_uniform,
// locate, draw_site, scale, sum, update, remove and weights. If several lanes share a chain, sync()
// is a barrier among them, and leads() is true for the one that writes.
#pragma once

#include <cstdint>

#include "kernels/path/exact_path.h"
#include "kernels/path/first_order_path.h"
#include "kernels/random/philox.h"

namespace isinglass {

struct Move {
  int64_t site;
  int from, to;  // They are equal if a frozen path revisits a site.
  // It is the log weight of the move, or of all moves of the site if that is revisited.
  double log_weight;
};

// Draws move l of a path at a given site: the value that the site takes, from its conditional.
template <class Weights>
ISINGLASS_HD Move draw_move(const Weights& weights, int64_t site, int from,
                            const PhiloxStream& draws, int64_t l) {
  const int to = weights.draw_value(site, from, draws.uniform(Purpose::kValue, l));
  return {site, from, to, weights.log_weight(site, from, to)};
}

// Does the same with the weights at weighed_values(). y is the current state of the path.
template <class Weights>
ISINGLASS_HD Move draw_first_order_move(PathRule rule, const Weights& weights, int64_t site,
                                        const uint8_t* x, const uint8_t* y,
                                        const PhiloxStream& draws, int64_t l) {
  const int from = weighed_values(rule, x, y)[site];
  if (rule == PathRule::kFrozen && y[site] != from) {
    return {site, from, from, weights.log_site_weight(site, from)};
  }
  return draw_move(weights, site, from, draws, l);
}

// Returns the log weight of the reverse of move l, from the site's value at y.
template <class Weights>
ISINGLASS_HD double log_weight_back(const Weights& weights, const Path& path, int64_t l,
                                    int value) {
  const int64_t site = path.site[l];
  const int from = path.from[l];
  return from == path.to[l] ? weights.log_site_weight(site, value)
                            : weights.log_weight(site, value, from);
}

// Makes move l of a path from x: updates y, the path and log q, but not the weights.
template <class Sums>
ISINGLASS_DEVICE Move make_move(PathRule rule, const Sums& sums, const TreePosition& position,
                                const PhiloxStream& draws, const uint8_t* x, uint8_t* y,
                                const Path& path, int64_t l, PathLogQ& log_q) {
  const Move move =
      draw_first_order_move(rule, sums.weights(), sums.draw_site(position), x, y, draws, l);
  log_q.move(move.log_weight, sums.scale(), sums.sum());
  sums.sync();
  if (sums.leads()) {
    path.site[l] = static_cast<int32_t>(move.site);
    path.from[l] = static_cast<uint8_t>(move.from);
    path.to[l] = static_cast<uint8_t>(move.to);
    if (move.from != move.to) y[move.site] = static_cast<uint8_t>(move.to);
  }
  sums.sync();
  return move;
}

// Makes move l of a path from x and updates the weights.
template <class Sums>
ISINGLASS_DEVICE void draw_path_move(PathRule rule, Sums& sums, const TreePosition& position,
                                     const PhiloxStream& draws, const uint8_t* x, uint8_t* y,
                                     const Path& path, int64_t l, PathLogQ& log_q) {
  const Move move = make_move(rule, sums, position, draws, x, y, path, l, log_q);
  if (l + 1 == path.length) return;  // No further move is drawn from these sums.
  if (rule == PathRule::kLinearised) sums.update(move.site);
  if (rule == PathRule::kNoBacktrack) sums.remove(move.site);
}

// Scores the reverse of move l: adds its log probability to log q. `sums` holds the weights from
// which it is drawn. If the weights follow y, y is walked back by the move, and it is restored
// after move 0.
template <class Sums>
ISINGLASS_DEVICE void score_path_move(PathRule rule, Sums& sums, uint8_t* y, const Path& path,
                                      int64_t l, PathLogQ& log_q) {
  const int64_t site = path.site[l];
  log_q.move(log_weight_back(sums.weights(), path, l, y[site]), sums.scale(), sums.sum());
  if (rule == PathRule::kLinearised) {
    sums.sync();
    if (sums.leads()) {
      if (l > 0) {
        y[site] = path.from[l];
      } else {
        for (int64_t n = 0; n < path.length; ++n) y[path.site[n]] = path.to[n];
      }
    }
    sums.sync();
  }
  if (l == 0) return;
  if (rule == PathRule::kLinearised) sums.update(site);
  if (rule == PathRule::kNoBacktrack) sums.remove(site);
}

// Draws a path from x, given y = x and the sums of the weights at weighed_values(). Writes y and
// the path, and returns log q.
template <class Sums>
ISINGLASS_DEVICE double draw_path_of_chain(PathRule rule, Sums& sums, const PhiloxStream& draws,
                                           const uint8_t* x, uint8_t* y, const Path& path) {
  PathLogQ log_q;
  for (int64_t l = 0; l < path.length; ++l) {
    const TreePosition position = sums.locate(sums.site_uniform(draws, l));
    draw_path_move(rule, sums, position, draws, x, y, path, l, log_q);
  }
  return log_q.total();
}

// Returns log q of the reversed path, given the sums of the weights at y.
template <class Sums>
ISINGLASS_DEVICE double score_path_of_chain(PathRule rule, Sums& sums, uint8_t* y,
                                            const Path& path) {
  PathLogQ log_q;
  for (int64_t l = path.length; l-- > 0;) score_path_move(rule, sums, y, path, l, log_q);
  return log_q.total();
}

// Performs advance_exact_path() for one chain, given the sums of the weights at y.
template <class Sums>
ISINGLASS_DEVICE void advance_chain(const ExactPathShape& shape, const Sums& sums,
                                    const PathPosition& at, uint8_t* y, const ExactPaths& paths,
                                    int64_t chain, double* log_forward, double* log_backward) {
  const auto& weights = sums.weights();
  const uint8_t* values = site_values(shape, y);
  const auto value = [&](int64_t entry) { return values ? static_cast<int>(values[entry]) : 0; };
  if (at.position > 0 && sums.leads()) {
    const int64_t last = paths.entry[chain];
    log_backward[chain] +=
        weights.log_weight(last, value(last), paths.from[chain]) - sums.log_total();
  }
  if (at.position == at.length) return;
  const int64_t entry = sums.draw_site(sums.locate(at.draws.uniform(Purpose::kSite, at.position)));
  const Move move = draw_move(weights, entry, value(entry), at.draws, at.position);
  sums.sync();
  if (!sums.leads()) return;
  log_forward[chain] += move.log_weight - sums.log_total();
  paths.entry[chain] = static_cast<int32_t>(entry);
  paths.from[chain] = static_cast<uint8_t>(move.from);
  apply_move(shape, y, entry, move.to);
}

}  // namespace isinglass
