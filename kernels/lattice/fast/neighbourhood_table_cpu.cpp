// Implements the tabulation of neighbourhoods and the memory for lanes of sixteen chains (CPU).
#include <hwy/targets.h>

#include <cmath>
#include <vector>

#include "kernels/base/thread_memory_cpu.h"
#include "kernels/lattice/fast/lane_groups_cpu.h"
#include "kernels/lattice/fast/neighbourhood_table.h"
#include "kernels/random/bernoulli.h"

namespace isinglass::cpu {

// Returns the largest word for which BernoulliConditional::one() is not certain.
uint32_t find_threshold_word(double d) {
  constexpr double kWords = 4294967296.0;
  const BernoulliConditional weights(d);
  double word = std::floor(weights.zero / weights.total * kWords);
  while (word >= kWords || weights.certainly_one(word)) --word;
  while (!weights.certainly_one(word + 1)) ++word;
  return static_cast<uint32_t>(word);
}

namespace {

bool has_vectors() {
  return hwy::SupportedTargets() & ~(HWY_SCALAR | HWY_EMU128);
}

}  // namespace

bool has_neighbourhood_table(const Lattice& lattice) {
  if (!has_vectors() || lattice.categories != 2 || !std::isfinite(lattice.constant)) return false;
  if (lattice.sites > kMostTableSites || lattice.table) return false;
  for (int64_t i = 0; i < lattice.sites; ++i) {
    if (lattice.offset[i + 1] - lattice.offset[i] > kTableNeighbours) return false;
    double all = std::fabs(lattice.unary[2 * i]) + std::fabs(lattice.unary[2 * i + 1]);
    for (int64_t n = lattice.offset[i]; n < lattice.offset[i + 1]; ++n) {
      all += std::fabs(lattice.coupling[n]);
    }
    if (!(all < 1e30)) return false;  // The bound keeps gradients finite in float32.
  }
  return true;
}

double tabulate_neighbourhoods(const Lattice& lattice, const NeighbourhoodBuffers& out) {
  std::vector<uint8_t> x(static_cast<std::size_t>(lattice.sites));
  double constant = lattice.constant;
  for (int64_t i = 0; i < lattice.sites; ++i) {
    const int64_t first = lattice.offset[i], count = lattice.offset[i + 1] - first;
    const double *u = lattice.unary + 2 * i, field = u[1] - u[0];
    constant += 0.5 * (u[0] + u[1]);
    for (int64_t n = 0; n < kTableNeighbours; ++n) {
      out.neighbour[i * kTableNeighbours + n] =
          static_cast<int32_t>(n < count ? lattice.neighbour[first + n] : lattice.sites);
    }
    for (int64_t n = 0; n < count; ++n) constant -= 0.25 * lattice.coupling[first + n];
    for (int neighbourhood = 0; neighbourhood < kNeighbourhoods; ++neighbourhood) {
      for (int64_t n = 0; n < count; ++n) x[lattice.neighbour[first + n]] = neighbourhood >> n & 1;
      const int64_t at = i * kNeighbourhoods + neighbourhood;
      out.flip_energy[at] = flip_energy(lattice, x.data(), i);
      out.half_flip[at] = 0.25 * (field + out.flip_energy[at]);
      local_table(lattice, x.data(), i, false, LocalTable::kGradient, out.gradient + at - i);
      out.threshold_word[at] = find_threshold_word(out.flip_energy[at]);
    }
  }
  return constant;
}

uint8_t* lane_states(int64_t states, int64_t sites) {
  constexpr std::size_t kAlignment = 64;
  thread_local std::vector<uint8_t> lanes;
  const auto size = static_cast<std::size_t>(states * lane_bytes(sites)) + kAlignment;
  if (lanes.size() < size) lanes.resize(size);
  const auto at = reinterpret_cast<std::uintptr_t>(lanes.data());
  return lanes.data() + (kAlignment - at % kAlignment);
}
void reserve_lane_states(bool parallel, int64_t states, int64_t sites) {
  thread_local int64_t reserved = 0;
  reserve_on_threads(parallel, reserved, states * lane_bytes(sites),
                     [=] { lane_states(states, sites); });
}

}  // namespace isinglass::cpu
