// A small lattice for the kernels that walk one, and sums that are compared to rounding.
#pragma once

#include "kernels/lattice/lattice.h"
#include "tests/simt/twins.h"

namespace isinglass {

// Sums over sites, which compare equal up to rounding.
struct Sums {
  std::vector<double> values;
  bool operator==(const Sums& other) const {
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::abs(values[i] - other.values[i]) > 1e-12 * (1 + std::abs(values[i]))) return false;
    }
    return values.size() == other.values.size();
  }
};

// A ring of sites.
struct Ring {
  Ring(int64_t sites, int categories, Inputs& inputs)
      : unary(inputs.reals<double>(sites * categories, 1)) {
    offset.push_back(0);
    for (int64_t i = 0; sites > 2 && i < sites; ++i) {
      neighbour.push_back(static_cast<int32_t>((i + 1) % sites));
      neighbour.push_back(static_cast<int32_t>((i + sites - 1) % sites));
      coupling.push_back(0.3 + 0.01 * static_cast<double>(i));
      coupling.push_back(0.3 + 0.01 * static_cast<double>((i + sites - 1) % sites));
      offset.push_back(static_cast<int64_t>(neighbour.size()));
    }
    offset.resize(sites + 1, static_cast<int64_t>(neighbour.size()));
  }

  Lattice lattice(int64_t sites, int categories) const {
    return {sites,           categories, unary.data(), offset.data(), neighbour.data(),
            coupling.data(), 0.25};
  }

  std::vector<double> unary, coupling;
  std::vector<int64_t> offset;
  std::vector<int32_t> neighbour;
};

}  // namespace isinglass
