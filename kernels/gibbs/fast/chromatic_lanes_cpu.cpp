// See chromatic_lanes_cpu.h. A tile is what one Philox call a chain serves: the four sites of ranks
// n, n + 8, n + 16 and n + 24 of 32, as far as they have the colour at hand.
#include "kernels/gibbs/fast/chromatic_lanes_cpu.h"

namespace isinglass::cpu {
namespace {

constexpr int kTileSites = 4, kTileStride = 8, kBlockRanks = kTileSites * kTileStride;
constexpr int kTile = kTileSites * kChainLanes;

// The ranks of a tile; one outside of the colour is replaced by one inside, and not stored.
struct Tile {
  int64_t rank[kTileSites];
  int64_t site[kTileSites];
  bool inside[kTileSites];
  bool any = false;

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

// The first words of the numbers of a tile's sites.
[[gnu::always_inline]] inline void fill_words(const Draws* draws, int64_t first_rank,
                                              double* word) {
  const uint32_t position =
      static_cast<uint32_t>(first_rank / kBlockRanks * kTileStride + first_rank % kTileStride);
  const uint64_t seed = draws[0].seed;
  const uint32_t step = draws[0].step;
  uint32_t chain[kChainLanes];
  for (int l = 0; l < kChainLanes; ++l) chain[l] = draws[l].chain;
  for (int l = 0; l < kChainLanes; ++l) {
    const Philox4x32 r =
        philox4x32(seed, chain[l], step, static_cast<uint32_t>(Purpose::kSiteValue), position);
    for (int k = 0; k < kTileSites; ++k) word[k * kChainLanes + l] = r.word[k];
  }
}

// flip_energy() of a site
[[gnu::always_inline]] inline void flip_energies(const Lattice& lattice, double* lanes,
                                                 int64_t site, Lanes& d) {
  const Lanes none = {};
  Lanes sum = none + (lattice.unary[2 * site + 1] - lattice.unary[2 * site]);
  for (int64_t n = lattice.offset[site]; n < lattice.offset[site + 1]; ++n) {
    const Lanes coupling = none + lattice.coupling[n];
    sum -= lanes_at(lanes, lattice.neighbour[n]) == 1 ? coupling : -coupling;
  }
  d = sum;
}

// The values of a tile by both words of their numbers; d times β.
void resolve(const Tile& tile, const Draws* draws, const double* d, double* up) {
  for (int i = 0; i < kTile; ++i) {
    const double u = rank_uniform(draws[i % kChainLanes], tile.rank[i / kChainLanes]);
    up[i] = BernoulliConditional(d[i]).one(u) ? 1 : 0;
  }
}

}  // namespace

ISINGLASS_VECTOR_CLONES
SweepCounts sweep_lanes(const Lattice& lattice, const Colouring& colouring, int64_t chains,
                        const Draws* draws, const double* beta, double* lanes, uint8_t* x) {
  fill_lanes(x, chains, lattice.sites, lanes);
  const Lanes none = {}, one = none + 1;
  Lanes difference = none, hops = none, broken = none;
  Lanes beta_of_chains = none;
  for (int l = 0; l < kChainLanes; ++l) beta_of_chains[l] = beta[l];
  double d[kTile], tempered[kTile], word[kTile], up[kTile];
  for (int64_t colour = 0; colour < colouring.colours; ++colour) {
    const int64_t first = colouring.offset[colour], end = colouring.offset[colour + 1];
    for (int64_t n = first / kBlockRanks * kBlockRanks; n < end;
         n += n % kTileStride == kTileStride - 1 ? kBlockRanks - kTileStride + 1 : 1) {
      const Tile tile(colouring, n, first, end);
      if (!tile.any) continue;
      for (int k = 0; k < kTileSites; ++k) {
        flip_energies(lattice, lanes, tile.site[k], lanes_at(d, k));
        lanes_at(tempered, k) = beta_of_chains * lanes_at(d, k);
      }
      fill_words(draws, n, word);
      if (draw_by_words<kTile>(tempered, word, up)) resolve(tile, draws, tempered, up);
      for (int k = 0; k < kTileSites; ++k) {
        if (!tile.inside[k]) continue;
        Lanes& own = lanes_at(lanes, tile.site[k]);
        const Lanes of_site = lanes_at(d, k), finite = of_site - of_site;
        const Lanes to = finite == none ? lanes_at(up, k) : own;
        const Lanes change = to == one ? of_site : -of_site;
        difference += to == own ? none : change;
        hops += to == own ? none : one;
        broken += finite == none ? none : one;
        own = to;
      }
    }
  }
  for (int64_t c = 0; c < chains; ++c) {
    for (int64_t i = 0; i < lattice.sites; ++i) {
      x[c * lattice.sites + i] = static_cast<uint8_t>(lanes[i * kChainLanes + c]);
    }
  }
  SweepCounts counts;
  for (int l = 0; l < kChainLanes; ++l) {
    counts.difference[l] = difference[l];
    counts.hops[l] = hops[l];
    counts.broken[l] = broken[l];
  }
  return counts;
}

}  // namespace isinglass::cpu
