// The moves of a path, drawn and scored: the same code on the CPU and on the GPU, for whole paths
// and for the steps on a lattice that make them one by one.
//
// Sums are the two-level sums of a chain's weights (move_weights.h), with site_uniform, locate,
// draw_site, scale, sum, update, remove and weights; where several lanes share a chain, sync() is their barrier and
// leads() says which of them writes.
#pragma once

#include <cstdint>

#include "kernels/path/exact_path.h"
#include "kernels/path/first_order_path.h"
#include "kernels/random/philox.h"

namespace isinglass {

struct Move {
  int64_t site;
  int from, to;       // equal where a frozen path comes to a site again
  double log_weight;  // of the move; of all moves of the site where it comes again
};

// Move l of a path: the value that a drawn site takes, at its conditional.
template <class Weights>
ISINGLASS_HD Move draw_move(const Weights& weights, int64_t site, int from, const Draws& draws,
                            int64_t l) {
  const int to = weights.draw_value(site, from, draws.uniform(Purpose::kValue, l));
  return {site, from, to, weights.log_weight(site, from, to)};
}

// The same with the weights at weighed_values(); y is where the path has come to.
template <class Weights>
ISINGLASS_HD Move draw_first_order_move(PathRule rule, const Weights& weights, int64_t site,
                                        const uint8_t* x, const uint8_t* y, const Draws& draws,
                                        int64_t l) {
  const int from = weighed_values(rule, x, y)[site];
  if (rule == PathRule::kFrozen && y[site] != from) {
    return {site, from, from, weights.log_site_weight(site, from)};
  }
  return draw_move(weights, site, from, draws, l);
}

// The log weight of move l taken back, from the site's value at y.
template <class Weights>
ISINGLASS_HD double log_weight_back(const Weights& weights, const Path& path, int64_t l,
                                    int value) {
  const int64_t site = path.site[l];
  const int from = path.from[l];
  return from == path.to[l] ? weights.log_site_weight(site, value)
                            : weights.log_weight(site, value, from);
}

// Makes move l of a path from x: y, the path and log q, the weights staying as they are.
template <class Sums>
ISINGLASS_DEVICE Move make_move(PathRule rule, const Sums& sums, const TreePosition& position,
                                const Draws& draws, const uint8_t* x, uint8_t* y, const Path& path,
                                int64_t l, PathLogQ& log_q) {
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

// Move l of a path from x, and the weights after it.
template <class Sums>
ISINGLASS_DEVICE void draw_path_move(PathRule rule, Sums& sums, const TreePosition& position,
                                     const Draws& draws, const uint8_t* x, uint8_t* y,
                                     const Path& path, int64_t l, PathLogQ& log_q) {
  const Move move = make_move(rule, sums, position, draws, x, y, path, l, log_q);
  if (l + 1 == path.length) return;  // nobody draws from these sums
  if (rule == PathRule::kLinearised) sums.update(move.site);
  if (rule == PathRule::kNoBacktrack) sums.remove(move.site);
}

// Move l of the path, reversed, with the sums of the weights after it, which are at y: log q. y is
// walked back where the weights follow it, and as it was after move 0.
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

// Draws a path from x, with y = x and the sums of the weights at weighed_values(): y, the path and
// log q, which is returned.
template <class Sums>
ISINGLASS_DEVICE double draw_path_of_chain(PathRule rule, Sums& sums, const Draws& draws,
                                           const uint8_t* x, uint8_t* y, const Path& path) {
  PathLogQ log_q;
  for (int64_t l = 0; l < path.length; ++l) {
    const TreePosition position = sums.locate(sums.site_uniform(draws, l));
    draw_path_move(rule, sums, position, draws, x, y, path, l, log_q);
  }
  return log_q.total();
}

// log q of the reversed path, with the sums of the weights at y.
template <class Sums>
ISINGLASS_DEVICE double score_path_of_chain(PathRule rule, Sums& sums, uint8_t* y,
                                            const Path& path) {
  PathLogQ log_q;
  for (int64_t l = path.length; l-- > 0;) score_path_move(rule, sums, y, path, l, log_q);
  return log_q.total();
}

// One chain's part of advance_exact_path(), with the sums of the weights at y.
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
