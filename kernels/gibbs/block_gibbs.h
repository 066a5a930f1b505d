// Draws a whole block of sites from a set of joint values: block-gibbs, and hamming-ball (Titsias &
// Yau 2017, "The Hamming ball sampler").
//
//   block: m distinct sites, uniform (Floyd's algorithm)
//   u = x + change a on the block: a = 0 (block-gibbs), or uniform over the ball (hamming-ball)
//   x ~ π restricted to {u + change n}
//
// A change adds digits mod K to at most r of the block's sites; change 0 adds none. The list of
// changes is symmetric: if u is x plus change a, then x is u plus change inverse[a], and all u of a
// ball are equally likely. So (x, u) → (y, u) leaves π(x) q(u | x) invariant. With r = m the ball
// is the whole box.
//
// Candidate 0 is x itself, whose energy is known. Candidate i ≥ 1 is u + change n, where n runs
// over all changes except inverse[a].
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/gibbs/one_site.h"
#include "kernels/lattice/lattice.h"
#include "kernels/random/philox.h"

namespace isinglass {

struct BlockChanges {
  int count;   // N
  int radius;  // r
  // [N, r]: 256·(index in the block) + digit. Entries after the last one are 0.
  const int32_t* entry;
  const int32_t* inverse;  // [N]. Change inverse[n] undoes change n.
};

struct Blocks {
  int64_t chains;
  int64_t sites;
  int categories;
  int size;  // m
  BlockChanges changes;
  int32_t* site;    // [B, m]
  int32_t* centre;  // [B]: a
};

// Chooses the block and the centre u [B, D] of every chain.
ISINGLASS_TWINS(choose_blocks, const Blocks&, bool uniform_centre, const int64_t* rng,
                const int64_t* chain_ids, const uint8_t* x, uint8_t* u, Stream)
// Writes the candidates first … first + count − 1 (first ≥ 1) as states [B, count, D].
ISINGLASS_TWINS(block_states, const Blocks&, const uint8_t* u, int first, int count,
                uint8_t* states, Stream)
// Writes the energies of all candidates on a lattice into table [B, N]; energy [B] = U(x).
ISINGLASS_TWINS(lattice_block_energies, const Lattice&, const Blocks&, const uint8_t* u,
                const double* energy, double* table, Stream)
// Draws a candidate by its energy and copies it into x and energy; u is overwritten. choice [B] is
// the candidate minus 1, which is −1 for x itself. A candidate whose energy is not finite has no
// weight.
ISINGLASS_TWINS(draw_blocks, const Blocks&, const double* table, const int64_t* rng,
                const int64_t* chain_ids, uint8_t* x, uint8_t* u, double* energy, int64_t* choice,
                const StepCounts&, Stream)

// The functions below do the work of one chain. Both devices call them.

// Gives the e-th site and digit of a change on a chain's block. The digit is 0 after the last.
struct Change {
  const int32_t* entry;
  const int32_t* block;  // [m]

  ISINGLASS_HD int digit(int e) const { return entry[e] % 256; }
  ISINGLASS_HD int32_t site(int e) const { return block[entry[e] / 256]; }
};

ISINGLASS_HD inline Change change_of(const Blocks& blocks, int64_t chain, int n) {
  return {blocks.changes.entry + static_cast<int64_t>(n) * blocks.changes.radius,
          blocks.site + chain * blocks.size};
}

// change_to_x() returns the change that leads from the chain's centre u to x; change_to() returns
// the one that leads to candidate i ≥ 1.
ISINGLASS_HD inline Change change_to_x(const Blocks& blocks, int64_t chain) {
  return change_of(blocks, chain, blocks.changes.inverse[blocks.centre[chain]]);
}
ISINGLASS_HD inline Change change_to(const Blocks& blocks, int64_t chain, int candidate) {
  const int own = blocks.changes.inverse[blocks.centre[chain]];
  return change_of(blocks, chain, neighbour_value(candidate - 1, own));
}

ISINGLASS_HD inline int added(int value, int digit, int categories) {
  return (value + digit) % categories;
}

ISINGLASS_HD inline void apply_change(const Change& change, int radius, int categories,
                                      uint8_t* state) {
  for (int e = 0; e < radius && change.digit(e) != 0; ++e) {
    uint8_t& value = state[change.site(e)];
    value = static_cast<uint8_t>(added(value, change.digit(e), categories));
  }
}

ISINGLASS_HD inline void choose_block_sites(const PhiloxStream& draws, int64_t sites, int size,
                                            int32_t* block) {
  for (int i = 0; i < size; ++i) {
    const int64_t last = sites - size + i;
    auto site = static_cast<int32_t>(
        draws.below(static_cast<uint32_t>(last + 1), Purpose::kSite, static_cast<uint32_t>(i)));
    for (int j = 0; j < i; ++j) {
      // If the site is taken already, it takes `last`, which cannot be taken yet.
      if (block[j] == site) {
        site = static_cast<int32_t>(last);
        break;
      }
    }
    block[i] = site;
  }
}

// Chooses one chain's block and centre; u holds a copy of x on entry.
ISINGLASS_HD inline void choose_chain_block(const Blocks& blocks, bool uniform_centre,
                                            const PhiloxStream& draws, int64_t c, uint8_t* u) {
  choose_block_sites(draws, blocks.sites, blocks.size, blocks.site + c * blocks.size);
  const auto all = static_cast<uint32_t>(blocks.changes.count);
  const int centre = uniform_centre ? static_cast<int>(draws.below(all, Purpose::kValue, 1)) : 0;
  blocks.centre[c] = centre;
  apply_change(change_of(blocks, c, centre), blocks.changes.radius, blocks.categories,
               u + c * blocks.sites);
}

// Returns U(u with the change) − U(u). It changes one site after the other, each given the changes
// before it.
ISINGLASS_HD inline double change_energy(const Lattice& lattice, const uint8_t* u,
                                         const Change& change, int radius) {
  double difference = 0;
  for (int e = 0; e < radius && change.digit(e) != 0; ++e) {
    const int32_t site = change.site(e);
    const int from = u[site], to = added(from, change.digit(e), lattice.categories);
    difference += local_energy(lattice, u, site, to) - local_energy(lattice, u, site, from);
    for (int64_t n = lattice.offset[site]; n < lattice.offset[site + 1]; ++n) {
      for (int f = 0; f < e; ++f) {
        if (change.site(f) != lattice.neighbour[n]) continue;
        const int was = u[change.site(f)];
        const int is = added(was, change.digit(f), lattice.categories);
        difference -= pair_coupling(lattice, n, to, is) - pair_coupling(lattice, n, from, is) -
                      pair_coupling(lattice, n, to, was) + pair_coupling(lattice, n, from, was);
      }
    }
  }
  return difference;
}

ISINGLASS_HD inline void draw_chain_block(const Blocks& blocks, const double* table,
                                          const PhiloxStream& draws, int64_t c, uint8_t* x,
                                          uint8_t* u, double* energy, int64_t* choice,
                                          const StepCounts& counts) {
  const int candidates = blocks.changes.count;
  const double* own = table + c * candidates;
  bool finite;
  const int drawn = draw_conditional(own, candidates, 0, draws.uniform(Purpose::kValue), &finite);
  int64_t hops = 0;
  if (drawn > 0) {
    uint8_t *here = x + c * blocks.sites, *there = u + c * blocks.sites;
    apply_change(change_to(blocks, c, drawn), blocks.changes.radius, blocks.categories, there);
    for (int j = 0; j < blocks.size; ++j) {
      const int32_t site = blocks.site[c * blocks.size + j];
      hops += here[site] != there[site];
      here[site] = there[site];
    }
    energy[c] = own[drawn];
  }
  choice[c] = drawn - 1;
  count_draw(counts, c, hops, finite);
}

}  // namespace isinglass
