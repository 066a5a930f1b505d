// See neighbourhood_table.h.
#include <cmath>
#include <vector>

#include "kernels/lattice/fast/chain_lanes_avx512_cpu.h"
#include "kernels/lattice/fast/neighbourhood_table.h"

namespace isinglass::cpu {
namespace {

// The largest word at which FlipWeights::up() is not certain.
uint32_t undecided_word(double d) {
  constexpr double kWords = 4294967296.0;
  const FlipWeights weights(d);
  double word = std::floor(weights.zero / weights.total * kWords);
  while (word >= kWords || weights.surely_up(word)) --word;
  while (!weights.surely_up(word + 1)) ++word;
  return static_cast<uint32_t>(word);
}

}  // namespace

bool has_patterns(const Lattice& lattice) {
  if (!has_avx512() || lattice.categories != 2 || !std::isfinite(lattice.constant)) return false;
  for (int64_t i = 0; i < lattice.sites; ++i) {
    if (lattice.offset[i + 1] - lattice.offset[i] > kPatternNeighbours) return false;
    double all = std::fabs(lattice.unary[2 * i]) + std::fabs(lattice.unary[2 * i + 1]);
    for (int64_t n = lattice.offset[i]; n < lattice.offset[i + 1]; ++n) {
      all += std::fabs(lattice.coupling[n]);
    }
    if (!(all < 1e30)) return false;  // gradients are float32
  }
  return true;
}

double find_patterns(const Lattice& lattice, const PatternNumbers& out) {
  std::vector<uint8_t> x(static_cast<std::size_t>(lattice.sites));
  double constant = lattice.constant;
  for (int64_t i = 0; i < lattice.sites; ++i) {
    const int64_t first = lattice.offset[i], count = lattice.offset[i + 1] - first;
    const double *u = lattice.unary + 2 * i, field = u[1] - u[0];
    constant += 0.5 * (u[0] + u[1]);
    for (int64_t n = 0; n < kPatternNeighbours; ++n) {
      out.neighbour[i * kPatternNeighbours + n] =
          static_cast<int32_t>(n < count ? lattice.neighbour[first + n] : lattice.sites);
    }
    for (int64_t n = 0; n < count; ++n) constant -= 0.25 * lattice.coupling[first + n];
    for (int pattern = 0; pattern < kPatterns; ++pattern) {
      for (int64_t n = 0; n < count; ++n) x[lattice.neighbour[first + n]] = pattern >> n & 1;
      const int64_t at = i * kPatterns + pattern;
      out.flip_energy[at] = flip_energy(lattice, x.data(), i);
      out.half_flip[at] = 0.25 * (field + out.flip_energy[at]);
      site_gradient(lattice, x.data(), i, false, out.gradient + at - i);
      out.undecided[at] = undecided_word(out.flip_energy[at]);
    }
  }
  return constant;
}

#ifdef ISINGLASS_AVX512
uint8_t* lane_states(int64_t states, int64_t sites) {
  constexpr std::size_t kAlignment = 64;
  thread_local std::vector<uint8_t> lanes;
  const auto size = static_cast<std::size_t>(states * (sites + 1) * kPatternLanes) + kAlignment;
  if (lanes.size() < size) lanes.resize(size);
  const auto at = reinterpret_cast<std::uintptr_t>(lanes.data());
  return lanes.data() + (kAlignment - at % kAlignment);
}
#endif

}  // namespace isinglass::cpu
