// Implements rbm_gibbs.h on the CPU. Threads share the chains when units are drawn, and the tiles
// when matrices are multiplied (unit_product_cpu.h).
#include <algorithm>
#include <vector>

#include "kernels/base/threads_cpu.h"
#include "kernels/base/vectors_cpu.h"
#include "kernels/random/fast/philox_cpu.h"
#include "kernels/rbm/rbm_gibbs.h"
#include "kernels/rbm/unit_product_cpu.h"
#include "kernels/rbm/unit_sums_cpu.h"

namespace isinglass::cpu {
namespace {

// Says what is known of up to 128 units after their first words.
struct DrawnTile {
  // It has a bit for each block of 32 with a unit that its first word does not decide.
  unsigned open;
  bool finite;  // It is true if all inputs are finite.
};

// Draws `size` units from `first` on with draw_unit(), given input(i). Units beyond the last one
// are off.
template <class Input>
[[gnu::always_inline]] inline DrawnTile draw_tile(Input input, int64_t first, int64_t size,
                                                  const uint32_t* word, uint8_t* on) {
  DrawnTile drawn{0, true};
  for (int64_t at = 0; at < size; at += kBlockSites) {
    decltype(input(first)) d[kBlockSites];
    const int64_t count = std::min<int64_t>(kBlockSites, size - at);
    if (count == kBlockSites) {
      for (int i = 0; i < kBlockSites; ++i) d[i] = -input(first + at + i);
    } else {
      for (int i = 0; i < kBlockSites; ++i) d[i] = i < count ? -input(first + at + i) : 0;
    }
    int32_t non_finite = 0;
    for (int i = 0; i < kBlockSites; ++i) non_finite |= d[i] - d[i] == 0 ? 0 : 1;
    drawn.finite &= !non_finite;
    drawn.open |= draw_by_words<kBlockSites>(d, word + at, on + at) << (at / kBlockSites);
    for (int64_t i = count; i < kBlockSites; ++i) on[at + i] = 0;
  }
  return drawn;
}
ISINGLASS_VECTOR_CLONES
DrawnTile draw_hidden_tile(const PathPoint& point, const double* input, int64_t first, int64_t size,
                           const uint32_t* word, uint8_t* on) {
  const PathPoint at = point;
  return draw_tile([=](int64_t i) { return at.hidden(input[i]); }, first, size, word, on);
}
ISINGLASS_VECTOR_CLONES
DrawnTile draw_visible_tile(const PathPoint& point, const float* input, int64_t first, int64_t size,
                            const uint32_t* word, uint8_t* on) {
  const PathPoint at = point;
  if (!at.logits) return draw_tile([=](int64_t i) { return input[i]; }, first, size, word, on);
  // The input is converted to float32, in which draw_by_words() uses it. It lies between two
  // float32 numbers, so that it is finite in float32 as well.
  return draw_tile([=](int64_t i) { return static_cast<float>(at.visible(input[i], i)); }, first,
                   size, word, on);
}

// Sets `on` to the values of the sites that are held.
void hold_sites(const bool* held, int64_t size, const uint8_t* x, uint8_t* on) {
  for (int64_t i = 0; i < size; ++i) on[i] = held[i] ? x[i] : on[i];
}

// Copies `on` to x. Returns how many sites change, at most 128.
ISINGLASS_VECTOR_CLONES
int take_sites(const uint8_t* on, int64_t size, uint8_t* x) {
  uint8_t changes = 0;
  for (int64_t i = 0; i < size; ++i) changes += x[i] ^ on[i];
  for (int64_t i = 0; i < size; ++i) x[i] = on[i];
  return changes;
}

// Draws all units and calls take(first, on, size) for every 128 of them. draw(first, size, word,
// on) draws by the first words; where these do not decide, all bits and input(i) do. Returns true
// if all inputs are finite.
template <class Draw, class Input, class Take>
bool draw_units(const PhiloxStream& draws, Purpose purpose, Purpose rest, int64_t units, Draw draw,
                Input input, Take take) {
  bool finite = true;
  uint32_t word[kWordTile];
  uint8_t on[kWordTile];
  for (int64_t first = 0; first < units; first += kWordTile) {
    site_words(draws, purpose, static_cast<uint32_t>(first), word);
    const int64_t size = std::min<int64_t>(kWordTile, units - first);
    const DrawnTile drawn = draw(first, size, word, on);
    finite &= drawn.finite;
    for (unsigned open = drawn.open; open != 0; open &= open - 1) {
      const int64_t begin = __builtin_ctz(open) * kBlockSites;
      const int64_t end = std::min<int64_t>(begin + kBlockSites, size);
      for (int64_t i = begin; i < end; ++i) {
        on[i] = draw_unit(draws, purpose, rest, first + i, input(first + i));
      }
    }
    take(first, on, size);
  }
  return finite;
}

// Returns the sums over sites of b_v and, unless it is null, of l at the sites' values.
ISINGLASS_VECTOR_CLONES
VisibleSums visible_sums(const SweepShape& shape, const float* biases, const float* logits,
                         const uint8_t* x) {
  const SweepShape s = shape;
  const auto of = [=](const float* vector) {
    return [=](int64_t i) { return of_value(s, vector, i, x[i]); };
  };
  return {visible_sum(s.sites, of(biases)), logits ? visible_sum(s.sites, of(logits)) : 0};
}

double free_energy(const SweepShape& s, const float* visible_biases, const PathPoint& point,
                   const uint8_t* x, const double* inputs) {
  return path_energy(point, visible_sums(s, visible_biases, point.logits, x),
                     hidden_sum(inputs, s.hidden, nullptr, point.beta));
}

// Holds what the threads of a call share.
struct Shared {
  ActiveUnits hidden, visible;
  std::vector<uint8_t> finite;  // [B]. It is 1 if a chain's hidden inputs are finite.

  void resize(const SweepShape& s) {
    hidden.resize(s.chains, s.hidden);
    visible.resize(s.chains, s.visible());
    finite.resize(static_cast<std::size_t>(s.chains));
  }
};

// Performs the parts of a sweep. Each part is shared by the threads of a parallel region, with a
// barrier at its end.
class Sweeps {
 public:
  Sweeps(const SweepShape& shape, const SweepWeights& weights, const SweepChains& chains,
         Shared& shared)
      : s_(shape), w_(weights), chains_(chains), shared_(shared) {}

  void sweep(int64_t number) {
#pragma omp for schedule(static)
    for (int64_t c = 0; c < s_.chains; ++c) shared_.finite[c] = draw_hidden(number, c);
    multiply_all(shared_.hidden, {w_.to_visible, s_.hidden, s_.visible()}, chains_.visible_inputs);
#pragma omp for schedule(static)
    for (int64_t c = 0; c < s_.chains; ++c) {
      bool finite = shared_.finite[c] != 0;
      const int64_t hops =
          s_.columns == 1 ? draw_sites(number, c, finite) : draw_values(number, c, finite);
      count_draw(chains_.counts, c, hops, finite);
    }
    multiply_all(shared_.visible, {w_.to_hidden, s_.visible(), s_.hidden}, chains_.inputs);
  }

  void set_energies() {
#pragma omp for schedule(static)
    for (int64_t c = 0; c < s_.chains; ++c) {
      chains_.energy[c] =
          free_energy(s_, w_.visible_biases, PathPoint(chains_.path, c), states(c), inputs(c));
    }
  }

 private:
  uint8_t* states(int64_t c) { return chains_.x + c * s_.sites; }
  double* inputs(int64_t c) { return chains_.inputs + c * s_.hidden; }
  float* visible_inputs(int64_t c) { return chains_.visible_inputs + c * s_.visible(); }

  // Writes the product out [chains, columns].
  template <class Out>
  void multiply_all(ActiveUnits& on, const TiledMatrix& weights, Out* out) {
    const int64_t tiles = tile_count(weights.columns), panels = on.panels();
    const int64_t parts = (panels + kPartPanels - 1) / kPartPanels;
#pragma omp for schedule(static)
    for (int64_t p = 0; p < panels; ++p) on.list(p);
#pragma omp for schedule(static)
    for (int64_t n = 0; n < tiles * parts; ++n) {
      const int64_t part = n / tiles;
      multiply(on, panels * part / parts, panels * (part + 1) / parts, s_.chains, weights,
               n % tiles, out);
    }
  }

  bool draw_hidden(int64_t number, int64_t c) {
    const PathPoint point(chains_.path, c);
    const double* input = inputs(c);
    return draw_units(
        sweep_draws(chains_, c, number), Purpose::kHidden, Purpose::kHiddenRest, s_.hidden,
        [&](int64_t first, int64_t size, const uint32_t* word, uint8_t* on) {
          return draw_hidden_tile(point, input, first, size, word, on);
        },
        [&](int64_t h) { return point.hidden(input[h]); },
        [&](int64_t first, const uint8_t* on, int64_t size) {
          shared_.hidden.set(c, first, on, size);
        });
  }

  int64_t draw_sites(int64_t number, int64_t c, bool& finite) {
    const PathPoint point(chains_.path, c);
    const float* input = visible_inputs(c);
    int64_t hops = 0;
    finite &= draw_units(
        sweep_draws(chains_, c, number), Purpose::kSiteValue, Purpose::kSiteValueRest, s_.sites,
        [&](int64_t first, int64_t size, const uint32_t* word, uint8_t* on) {
          return draw_visible_tile(point, input, first, size, word, on);
        },
        [&](int64_t i) { return point.visible(input[i], i); },
        [&](int64_t first, uint8_t* on, int64_t size) {
          if (chains_.held)
            hold_sites(chains_.held + c * s_.sites + first, size, states(c) + first, on);
          hops += take_sites(on, size, states(c) + first);
          shared_.visible.set(c, first, on, size);
        });
    return hops;
  }

  int64_t draw_values(int64_t number, int64_t c, bool& finite) {
    const PhiloxStream draws = sweep_draws(chains_, c, number);
    const PathPoint point(chains_.path, c);
    uint8_t* x = states(c);
    int64_t hops = 0;
    shared_.visible.clear(c);
    for (int64_t i = 0; i < s_.sites; ++i) {
      bool drawn = true;
      const bool held = chains_.held && chains_.held[c * s_.sites + i];
      const int to = held ? x[i] : draw_value(s_, draws, point, i, x[i], visible_inputs(c), &drawn);
      finite &= drawn;
      hops += to != x[i];
      x[i] = static_cast<uint8_t>(to);
      shared_.visible.add(c, s_.column(i, to));
    }
    return hops;
  }

  const SweepShape& s_;
  const SweepWeights& w_;
  const SweepChains& chains_;
  Shared& shared_;
};

}  // namespace

void sweep_hidden(const SweepShape& s, const SweepWeights& w, int64_t steps,
                  const SweepChains& chains, Stream) {
  // It keeps its memory from call to call.
  thread_local Shared kept;
  // All threads use the memory of the calling thread.
  Shared& shared = kept;
  shared.resize(s);
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, (s.chains + s.visible()) * (s.visible() + s.hidden));
#pragma omp parallel if (loop.on_all_threads())
  {
    Sweeps sweeps(s, w, chains, shared);
    for (int64_t t = 0; t < steps; ++t) sweeps.sweep(t);
    if (chains.energy) sweeps.set_energies();
  }
}

void free_energies(const SweepShape& s, const float* visible_biases, const SweepPath& path,
                   const PathStates& states, Stream) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, s.chains * (s.visible() + s.hidden));
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t c = 0; c < s.chains; ++c) {
    states.energy[c] = free_energy(s, visible_biases, PathPoint(path, c), states.x + c * s.sites,
                                   states.inputs + c * s.hidden);
  }
}

void energies_at_adjacent_rungs(const SweepShape& s, const float* visible_biases,
                                const AdjacentRungs& at, Stream) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, s.chains * (s.visible() + s.hidden));
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t n = 0; n < s.chains; ++n) {
    const int64_t c = at.chain[n], i = n % at.rungs;
    const bool below = at.wants_below(i), above = at.wants_above(i);
    const VisibleSums visible = visible_sums(s, visible_biases, at.logits, at.x + c * s.sites);
    const double* inputs = at.inputs + c * s.hidden;
    const auto energy = [&](const PathPoint& point, double hidden) {
      return path_energy(point, visible, hidden);
    };
    const PathPoint own = at.point(i);
    if (below == above) {
      at.energy[c] = energy(own, hidden_sum(inputs, s.hidden, nullptr, own.beta));
      if (!below) continue;
    }
    const PathPoint lower = below ? at.point(i - 1) : own, upper = above ? at.point(i + 1) : own;
    const double beta[] = {lower.beta, upper.beta};
    double hidden[2];
    hidden_sums(inputs, s.hidden, beta, hidden);
    (below ? at.below : at.energy)[c] = energy(lower, hidden[0]);
    (above ? at.above : at.energy)[c] = energy(upper, hidden[1]);
  }
}

}  // namespace isinglass::cpu
