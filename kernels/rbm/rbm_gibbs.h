// Performs Gibbs sweeps of an RBM (Smolensky 1986; Hinton 2002). Given the sites the hidden units
// are independent of each other, and given the hidden units the sites are, so that a sweep draws
// all of them:
//
//   h_j ~ Bernoulli(σ(a_j)),   a = b_h + W v
//   v_i ~ Bernoulli(σ(c_i)),   c = b_v + Wᵀ h;   for K values: v_i = k ∝ exp(c_ik), v one-hot
//
// a and c are the biases plus the float32 rows of the units that are on, in ascending order: the
// rows of every four units are added to each other, and their sum to the total. So the CPU and CUDA
// versions, batches of any size and any number of sweeps per call have the same sums. The inputs a
// of the last v give the energy, as in free_energy.h, and begin the next sweep. The random numbers
// of a chain's sweep are site_uniform() of its step, with separate purposes for the hidden units.
// Sites of v that are held keep their values, and the others are drawn given them.
//
// Annealing follows a path from independent sites with logits l to the RBM. At inverse temperature
// β it is an RBM with weights βW and biases βb_h and βb_v + (1 − β) l, whose inputs are βa and βc +
// (1 − β) l with the a and c above. As a is what is stored, a change of β only requires new
// energies:
//
//   F_β(v) = −Σ_i v_i (βb_v + (1 − β) l)_i − Σ_h softplus(βa_h)
#pragma once

#include "kernels/accept/step_counts.h"
#include "kernels/base/categorical.h"
#include "kernels/base/measured_pairs.h"
#include "kernels/random/bernoulli.h"
#include "kernels/random/philox.h"
#include "kernels/rbm/free_energy.h"

namespace isinglass {

struct SweepShape {
  int64_t chains, sites;
  int columns;  // A site has C columns: 1 if it is binary, K in the one-hot form.
  int64_t hidden;

  ISINGLASS_HD int64_t visible() const { return sites * columns; }
  // Returns the column of a site's value, or −1 if it has none.
  ISINGLASS_HD int64_t column(int64_t site, int value) const {
    if (columns == 1) return value ? site : -1;
    return site * columns + value;
  }
};

constexpr int kRowGroup = 4;  // The rows of this many units are added to each other first.
constexpr int kTileColumns = 16;

ISINGLASS_HD inline int64_t tile_count(int64_t columns) {
  return (columns + kTileColumns - 1) / kTileColumns;
}
ISINGLASS_HD inline int64_t row_groups(int64_t units) {
  return (units + kRowGroup - 1) / kRowGroup;
}
ISINGLASS_HD inline int64_t tile_rows(int64_t units) {
  return 1 + row_groups(units) * kRowGroup;
}

// Refers to a matrix [units, columns] below its biases. It is divided into tiles of 16 columns that
// are stored one after the other and padded with zeros: [tiles, 1 + units rounded up to whole
// groups, 16].
struct TiledMatrix {
  const float* tile;
  int64_t units, columns;

  // Returns the biases of a tile's columns; the rows of the units follow.
  ISINGLASS_HD const float* biases(int64_t t) const {
    return tile + t * tile_rows(units) * kTileColumns;
  }
};

struct SweepWeights {
  const float* to_visible;      // W [H, D·C] in tiles, with b_v
  const float* to_hidden;       // Wᵀ [D·C, H] in tiles, with b_h
  const float* visible_biases;  // [D·C]
};

// Says where the chains are on the path of annealing. Without β they are at its end, the RBM
// itself.
struct SweepPath {
  const double* beta = nullptr;  // [1], or [B] with one β per chain.
  int64_t betas = 1;
  const float* logits = nullptr;  // l [D·C]

  ISINGLASS_HD double beta_of(int64_t chain) const {
    return beta ? beta[betas == 1 ? 0 : chain] : 1.0;
  }
};

// Gives the inputs and biases at a chain's β.
struct PathPoint {
  double beta;
  const float* logits;  // It is null at the end of the path.

  ISINGLASS_HD PathPoint(const SweepPath& path, int64_t chain)
      : beta(path.beta_of(chain)), logits(path.beta ? path.logits : nullptr) {}
  ISINGLASS_HD double hidden(double input) const { return beta * input; }
  ISINGLASS_HD double visible(double input, int64_t column) const {
    return logits ? beta * input + (1 - beta) * logits[column] : input;
  }
};

// Holds the sums over sites of b_v and of l at the sites' values.
struct VisibleSums {
  double biases, logits;
};

// Returns F_β from these sums and from hidden = Σ_h softplus(βa_h).
ISINGLASS_HD inline double path_energy(const PathPoint& at, const VisibleSums& visible,
                                       double hidden) {
  const double sites =
      at.logits ? at.beta * visible.biases + (1 - at.beta) * visible.logits : visible.biases;
  return -sites - hidden;
}

struct SweepChains {
  const int64_t* rng;  // {seed, step}
  const int64_t* chain_ids;
  uint8_t* x;             // [B, D]
  double* inputs;         // a(x) [B, H]
  double* energy;         // [B]. It is null if it is not wanted.
  float* visible_inputs;  // [B, D·C]: c. It is scratch memory.
  StepCounts counts;
  uint32_t* words = nullptr;  // [cuda::sweep_words()]. It is scratch memory of a GPU.
  SweepPath path = {};
  const bool* held = nullptr;  // [B, D]: true at sites that keep their values. Null: none do.
};

// Returns the random numbers of a chain in one of a call's sweeps.
ISINGLASS_HD inline PhiloxStream sweep_draws(const SweepChains& chains, int64_t chain,
                                             int64_t sweep) {
  return step_draws(chains.rng, chains.chain_ids[chain], sweep);
}

// Returns true if a unit is on.
ISINGLASS_HD inline bool draw_unit(const PhiloxStream& draws, Purpose first, Purpose rest,
                                   int64_t unit, double input) {
  return BernoulliConditional(-input).draw(draws, first, rest, static_cast<uint32_t>(unit));
}

// Gives the energies of a one-hot site's values.
struct ValueEnergies {
  const float* input;  // They are c of the site.
  const PathPoint& point;
  int64_t first;  // It is the first column of the site.

  ISINGLASS_HD double operator[](int k) const { return -point.visible(input[k], first + k); }
};

// Returns the new value of a one-hot site.
ISINGLASS_HD inline int draw_value(const SweepShape& s, const PhiloxStream& draws,
                                   const PathPoint& point, int64_t site, int from,
                                   const float* inputs, bool* finite) {
  const double u =
      draws.site_uniform(Purpose::kSiteValue, Purpose::kSiteValueRest, static_cast<uint32_t>(site));
  const int64_t first = site * s.columns;
  return draw_conditional(ValueEnergies{inputs + first, point, first}, s.columns, from, u, finite);
}

// Returns the contribution of a site's value to a sum over a vector [D·C].
ISINGLASS_HD inline double of_value(const SweepShape& s, const float* vector, int64_t site,
                                    int value) {
  const double own = vector[s.columns == 1 ? site : s.column(site, value)];
  return s.columns == 1 ? value * own : own;
}

// Performs `steps` sweeps of every chain in place. Energies and inputs are those of the last
// states.
ISINGLASS_TWINS(sweep_hidden, const SweepShape&, const SweepWeights&, int64_t steps,
                const SweepChains&, Stream)

// Holds states whose inputs are known, for free_energies(), which writes F_β.
struct PathStates {
  const uint8_t* x;      // [B, D]
  const double* inputs;  // a(x) [B, H]
  double* energy;        // [B]
};
ISINGLASS_TWINS(free_energies, const SweepShape&, const float* visible_biases, const SweepPath&,
                const PathStates&, Stream)

// energies_at_adjacent_rungs() computes, for chains on temperature ladders
// (kernels/tempering/swap.h), the energies on their own rungs, and on the adjacent rungs of the
// pairs that the step measures. The results are bitwise those of free_energies() at these β.
struct AdjacentRungs {
  int64_t rungs;
  const double* beta;              // [R]
  const float* logits;             // l [D·C]
  const int64_t* chain;            // [C, R]. Holds the chain on each rung.
  const uint8_t* x;                // [C·R, D]
  const double* inputs;            // a(x) [C·R, H]
  double *energy, *below, *above;  // [C·R]
  MeasuredPairs measured;
  const int64_t* rng;  // {seed, step}

  // Return true if the energy of the chain on rung i is wanted on the next rung, or on the previous
  // one.
  ISINGLASS_HD bool wants_above(int64_t i) const {
    return i + 1 < rungs && measured.measures(i, rng[1]);
  }
  ISINGLASS_HD bool wants_below(int64_t i) const { return i > 0 && wants_above(i - 1); }
  // Returns the point of the path at rung i.
  ISINGLASS_HD PathPoint point(int64_t i) const { return {{&beta[i], 1, logits}, 0}; }
};
ISINGLASS_TWINS(energies_at_adjacent_rungs, const SweepShape&, const float* visible_biases,
                const AdjacentRungs&, Stream)

namespace cuda {
// Returns how many words of global memory sweeps need.
int64_t sweep_words(const SweepShape&);
}  // namespace cuda

}  // namespace isinglass
