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

  // Gives every edge a table in place of its coupling.
  void add_tables(int categories, Inputs& inputs) {
    const int64_t each = int64_t{categories} * categories;
    table = inputs.reals<double>(static_cast<int64_t>(neighbour.size()) * each, 0.5);
    for (size_t i = 0; i + 1 < offset.size(); ++i) {
      for (int64_t n = offset[i]; n < offset[i + 1]; ++n) {
        const int32_t j = neighbour[n];
        if (j < static_cast<int32_t>(i)) continue;
        int64_t back = offset[j];
        while (neighbour[back] != static_cast<int32_t>(i)) ++back;
        for (int k = 0; k < categories; ++k) {
          for (int l = 0; l < categories; ++l) {
            table[back * each + k * categories + l] = table[n * each + l * categories + k];
          }
        }
      }
    }
  }

  Lattice lattice(int64_t sites, int categories) const {
    return {sites,
            categories,
            unary.data(),
            offset.data(),
            neighbour.data(),
            coupling.data(),
            0.25,
            table.empty() ? nullptr : table.data()};
  }

  std::vector<double> unary, coupling, table;
  std::vector<int64_t> offset;
  std::vector<int32_t> neighbour;
};

}  // namespace isinglass
