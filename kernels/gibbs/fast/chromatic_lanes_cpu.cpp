// Implements sweeps in lanes. The lanes hold spins s = 2x − 1, so that a neighbour's share of
// flip_energy() is −c·s, which has no rounding error. A tile holds the four sites that one Philox
// call per chain serves: the ranks n, n + 8, n + 16 and n + 24 of 32, as far as they have the
// current colour.
#include "kernels/gibbs/fast/chromatic_lanes_cpu.h"

#include <algorithm>
#include <array>

#include "kernels/random/fast/philox_cpu.h"

namespace isinglass::cpu {
namespace {

constexpr int kTileSites = 4, kTileStride = 8, kBlockRanks = kTileSites * kTileStride;
constexpr int kTile = kTileSites * kChainLanes;

// Holds the ranks and sites of a tile. A rank outside of the colour is replaced by one inside, and
// its result is not stored.
struct Tile {
  int64_t rank[kTileSites];
  int64_t site[kTileSites];
  bool inside[kTileSites];
  bool any = false;

  Tile() = default;
  Tile(const Colouring& colouring, int64_t first_rank, int64_t first, int64_t end) {
    int64_t some = 0;
    for (int k = 0; k < kTileSites; ++k) {
      rank[k] = first_rank + k * kTileStride;
      inside[k] = rank[k] >= first && rank[k] < end;
      if (inside[k]) some = rank[k];
      any = any || inside[k];
    }
    for (int k = 0; k < kTileSites; ++k) site[k] = colouring.site[inside[k] ? rank[k] : some];
  }
};

// Holds the tiles of a block of 32 ranks that have sites of a colour, and the first words of the
// random numbers of their sites.
struct BlockTiles {
  int count = 0;
  std::array<Tile, kTileStride> tile;
  uint32_t chain[kTileStride * kChainLanes], position[kTileStride * kChainLanes];
  uint32_t word[kTile * kTileStride];  // [4, 8·count]

  explicit BlockTiles(const PhiloxStream* draws) {
    for (int i = 0; i < kTileStride * kChainLanes; ++i) chain[i] = draws[i % kChainLanes].chain;
  }
  void fill(const Colouring& colouring, int64_t block, int64_t first, int64_t end,
            const PhiloxStream* draws) {
    count = 0;
    for (int n = 0; n < kTileStride; ++n) {
      tile[count] = Tile(colouring, block * kBlockRanks + n, first, end);
      if (!tile[count].any) continue;
      const auto call = static_cast<uint32_t>(block * kTileStride + n);
      std::fill_n(position + count * kChainLanes, kChainLanes, call);
      ++count;
    }
    philox_words(draws[0].seed, draws[0].step, Purpose::kSiteValue, count * kChainLanes, chain,
                 position, 0, word);
  }
  // Copies the words of a tile, [4, 8].
  [[gnu::always_inline]] void copy_words(int n, uint32_t* to) const {
    for (int k = 0; k < kTileSites; ++k) {
      std::copy_n(word + (k * count + n) * kChainLanes, kChainLanes, to + k * kChainLanes);
    }
  }
};

[[gnu::always_inline]] inline void fill_spins(const uint8_t* x, int64_t chains, int64_t sites,
                                              double* lanes) {
  fill_lanes(x, chains, sites, lanes);
  for (int64_t n = 0; n < sites * kChainLanes; ++n) lanes[n] += lanes[n] - 1;
}

[[gnu::always_inline]] inline void store_spins(const double* lanes, int64_t chains, int64_t sites,
                                               uint8_t* x) {
  for (int64_t c = 0; c < chains; ++c) {
    for (int64_t i = 0; i < sites; ++i) x[c * sites + i] = lanes[i * kChainLanes + c] > 0 ? 1 : 0;
  }
}

// Returns flip_energy() of a site in all lanes.
template <int kBytes>
[[gnu::always_inline]] inline ChainLanes<kBytes> flip_energies(const Lattice& lattice,
                                                               double* lanes, int64_t site) {
  using Numbers = ChainLanes<kBytes>;
  Numbers sum = Numbers::all(lattice.unary[2 * site + 1] - lattice.unary[2 * site]);
  for (int64_t n = lattice.offset[site]; n < lattice.offset[site + 1]; ++n) {
    sum -= Numbers::all(lattice.coupling[n]) * lanes_at<kBytes>(lanes, lattice.neighbour[n]);
  }
  return sum;
}

// Gives flip_energy() of the sites: summed at each visit, or kept (chromatic_lanes_cpu.h).
template <int kBytes>
struct SummedFields {
  const Lattice& lattice;
  double* lanes;

  [[gnu::always_inline]] ChainLanes<kBytes> at(int64_t site) const {
    return flip_energies<kBytes>(lattice, lanes, site);
  }
  [[gnu::always_inline]] void moved(int64_t, const ChainLanes<kBytes>&,
                                    const ChainLanes<kBytes>&) const {}
};
template <int kBytes>
struct KeptFieldLanes {
  using Numbers = ChainLanes<kBytes>;
  const Lattice& lattice;
  double* field;

  [[gnu::always_inline]] Numbers at(int64_t site) const { return lanes_at<kBytes>(field, site); }
  // A spin that changes by δ changes the fields of the neighbours by −δ c_ij.
  [[gnu::always_inline]] void moved(int64_t site, const Numbers& from, const Numbers& to) const {
    const Numbers change = to - from;
    int flipped = 0;
    for (int l = 0; l < kChainLanes; ++l) flipped |= change[l] != 0;
    if (!flipped) return;
    for (int64_t n = lattice.offset[site]; n < lattice.offset[site + 1]; ++n) {
      lanes_at<kBytes>(field, lattice.neighbour[n]) -= Numbers::all(lattice.coupling[n]) * change;
    }
  }
};

// Draws the spins of a tile with all bits of their random numbers. `d` is multiplied by β.
template <SiteRule rule>
void resolve(const Tile& tile, const PhiloxStream* draws, const double* d, const double* from,
             double* to) {
  for (int i = 0; i < kTile; ++i) {
    const double u = rank_uniform(draws[i % kChainLanes], tile.rank[i / kChainLanes]);
    const BernoulliConditional conditional = rule == SiteRule::kHeatBath
                                                 ? BernoulliConditional(d[i])
                                                 : BernoulliConditional(d[i], from[i] > 0);
    to[i] = conditional.one(u) ? 1 : -1;
  }
}

// Draws the spins of a tile by a rule from their present ones. `d` is multiplied by β; `word`
// holds the first words of the random numbers, the other bits of which are drawn where needed.
template <SiteRule rule>
[[gnu::always_inline]] inline void draw_tile(const Tile& tile, const PhiloxStream* draws,
                                             const double* d, const double* from,
                                             const uint32_t* word, double* to) {
  constexpr bool heat_bath = rule == SiteRule::kHeatBath;
  bool open;
  if constexpr (heat_bath) {
    open = draw_by_words<kTile>(d, word, to);
  } else {
    open = draw_by_words<kTile>(d, from, word, to);
  }
  for (int i = 0; i < kTile; ++i) to[i] += to[i] - 1;
  if (open) resolve<rule>(tile, draws, d, from, to);
}

template <int kBytes, SiteRule rule, class Fields>
[[gnu::always_inline]] inline SweepCounts sweep_with(const Fields& fields, const Lattice& lattice,
                                                     const Colouring& colouring, int64_t chains,
                                                     const PhiloxStream* draws, const double* beta,
                                                     double* lanes, uint8_t* x) {
  using Numbers = ChainLanes<kBytes>;
  fill_spins(x, chains, lattice.sites, lanes);
  const Numbers none = {}, one = Numbers::all(1);
  Numbers difference = none, hops = none, non_finite = none;
  double own_beta[kChainLanes];
  std::copy_n(beta, kChainLanes, own_beta);
  double d[kTile], tempered[kTile], from[kTile], up[kTile];
  uint32_t word[kTile];
  BlockTiles tiles(draws);
  for (int64_t colour = 0; colour < colouring.colours; ++colour) {
    const int64_t first = colouring.offset[colour], end = colouring.offset[colour + 1];
    for (int64_t block = first / kBlockRanks; block * kBlockRanks < end; ++block) {
      tiles.fill(colouring, block, first, end, draws);
      for (int n = 0; n < tiles.count; ++n) {
        const Tile& tile = tiles.tile[n];
        for (int k = 0; k < kTileSites; ++k) {
          const Numbers of_site = tile.inside[k] ? fields.at(tile.site[k]) : none;
          lanes_at<kBytes>(d, k) = of_site;
          lanes_at<kBytes>(tempered, k) = lanes_at<kBytes>(own_beta, 0) * of_site;
          lanes_at<kBytes>(from, k) = lanes_at<kBytes>(lanes, tile.site[k]);
        }
        tiles.copy_words(n, word);
        draw_tile<rule>(tile, draws, tempered, from, word, up);
        for (int k = 0; k < kTileSites; ++k) {
          if (!tile.inside[k]) continue;
          Numbers& own = lanes_at<kBytes>(lanes, tile.site[k]);
          const Numbers of_site = lanes_at<kBytes>(d, k), finite = of_site - of_site;
          const Numbers to = Numbers::where_equal(finite, none, lanes_at<kBytes>(up, k), own);
          const Numbers change = Numbers::where_equal(to, one, of_site, -of_site);
          difference += Numbers::where_equal(to, own, none, change);
          hops += Numbers::where_equal(to, own, none, one);
          non_finite += Numbers::where_equal(finite, none, none, one);
          fields.moved(tile.site[k], own, to);
          own = to;
        }
      }
    }
  }
  store_spins(lanes, chains, lattice.sites, x);
  SweepCounts counts;
  for (int l = 0; l < kChainLanes; ++l) {
    counts.difference[l] = difference[l];
    counts.hops[l] = hops[l];
    counts.non_finite[l] = non_finite[l];
  }
  return counts;
}

template <int kBytes, class Fields>
[[gnu::always_inline]] inline SweepCounts sweep_by_rule(
    const Fields& fields, const Lattice& lattice, const Colouring& colouring, int64_t chains,
    const PhiloxStream* draws, const double* beta, double* lanes, uint8_t* x) {
  return colouring.rule == SiteRule::kHeatBath
             ? sweep_with<kBytes, SiteRule::kHeatBath>(fields, lattice, colouring, chains, draws,
                                                       beta, lanes, x)
             : sweep_with<kBytes, SiteRule::kMetropolis>(fields, lattice, colouring, chains, draws,
                                                         beta, lanes, x);
}

template <int kBytes>
[[gnu::always_inline]] inline SweepCounts sweep_lanes_of(const Lattice& lattice,
                                                         const Colouring& colouring, int64_t chains,
                                                         const PhiloxStream* draws,
                                                         const double* beta, double* lanes,
                                                         uint8_t* x) {
  return sweep_by_rule<kBytes>(SummedFields<kBytes>{lattice, lanes}, lattice, colouring, chains,
                               draws, beta, lanes, x);
}

template <int kBytes>
[[gnu::always_inline]] inline SweepCounts sweep_kept_lanes_of(
    const Lattice& lattice, const Colouring& colouring, int64_t chains, const PhiloxStream* draws,
    const double* beta, double* lanes, double* field, uint8_t* x) {
  return sweep_by_rule<kBytes>(KeptFieldLanes<kBytes>{lattice, field}, lattice, colouring, chains,
                               draws, beta, lanes, x);
}

template <int kBytes>
[[gnu::always_inline]] inline void fill_fields_of(const Lattice& lattice, int64_t chains,
                                                  const uint8_t* x, double* lanes, double* field) {
  fill_spins(x, chains, lattice.sites, lanes);
  for (int64_t i = 0; i < lattice.sites; ++i) {
    lanes_at<kBytes>(field, i) = flip_energies<kBytes>(lattice, lanes, i);
  }
}

}  // namespace

ISINGLASS_BY_WIDTH(SweepCounts, sweep_lanes,
                   (const Lattice& lattice, const Colouring& colouring, int64_t chains,
                    const PhiloxStream* draws, const double* beta, double* lanes, uint8_t* x),
                   (lattice, colouring, chains, draws, beta, lanes, x))
ISINGLASS_BY_WIDTH(SweepCounts, sweep_kept_lanes,
                   (const Lattice& lattice, const Colouring& colouring, int64_t chains,
                    const PhiloxStream* draws, const double* beta, double* lanes, double* field,
                    uint8_t* x),
                   (lattice, colouring, chains, draws, beta, lanes, field, x))
ISINGLASS_BY_WIDTH(void, fill_fields,
                   (const Lattice& lattice, int64_t chains, const uint8_t* x, double* lanes,
                    double* field),
                   (lattice, chains, x, lanes, field))

}  // namespace isinglass::cpu
