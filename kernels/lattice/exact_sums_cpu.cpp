// Implements exact_sums_cpu.h.
#include "kernels/lattice/exact_sums_cpu.h"

#include <algorithm>
#include <cmath>

namespace isinglass::cpu {
namespace {

// A site loses at most log2(kMostRatio) of the 51 bits of its sum.
constexpr double kMostRatio = 1024;

// Holds the largest and the least positive sum of a site's absolute weights.
struct Sums {
  double largest = 0, least = INFINITY;
};

Sums sums_of(const Lattice& lattice) {
  Sums sums;
  for (int64_t i = 0; i < lattice.sites; ++i) {
    double sum = std::fabs(lattice.unary[2 * i]) + std::fabs(lattice.unary[2 * i + 1]);
    for (int64_t n = lattice.offset[i]; n < lattice.offset[i + 1]; ++n) {
      sum += std::fabs(lattice.coupling[n]);
    }
    if (!(sum < INFINITY)) return {INFINITY, sum};
    sums.largest = std::max(sums.largest, sum);
    if (sum > 0) sums.least = std::min(sums.least, sum);
  }
  return sums;
}

}  // namespace

bool round_for_exact_sums(const Lattice& lattice, double* unary, double* coupling) {
  if (lattice.categories != 2 || lattice.table) return false;
  const int64_t entries = lattice.offset[lattice.sites];
  if (static_cast<double>(entries) < kManyNeighbours * static_cast<double>(lattice.sites)) {
    return false;
  }
  const auto [largest, least] = sums_of(lattice);
  if (!(largest > 1e-200 && largest < 1e200)) return false;
  // The sum with 1.5 · 2^52 q has multiples of q as its neighbours, since |value| < 2^51 q.
  const double shift = std::ldexp(3, std::ilogb(largest) + 1);
  const auto rounded = [shift](double value) { return (value + shift) - shift; };
  std::transform(lattice.unary, lattice.unary + 2 * lattice.sites, unary, rounded);
  std::transform(lattice.coupling, lattice.coupling + entries, coupling, rounded);
  return largest <= kMostRatio * least ||
         (std::equal(unary, unary + 2 * lattice.sites, lattice.unary) &&
          std::equal(coupling, coupling + entries, lattice.coupling));
}

}  // namespace isinglass::cpu
