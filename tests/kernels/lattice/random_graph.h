// Binary lattices of random couplings for tests of the kernels, and their tables of neighbourhoods.
#pragma once

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "kernels/gibbs/chromatic.h"
#include "kernels/lattice/fast/neighbourhood_table.h"

namespace isinglass {

// A random graph of at most four neighbours a site, coloured.
struct Graph {
  int64_t sites;
  std::vector<double> unary, coupling;
  std::vector<int64_t> offset = {0}, colour_offset = {0};
  std::vector<int32_t> neighbour, coloured;

  Graph(int64_t count, double field, unsigned seed) : sites(count) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::vector<std::vector<std::pair<int32_t, double>>> of(static_cast<std::size_t>(count));
    std::set<std::pair<int32_t, int32_t>> edges;
    for (int64_t trial = 0; count > 1 && trial < 6 * count; ++trial) {
      const auto a = static_cast<int32_t>(random() % count),
                 b = static_cast<int32_t>(random() % count);
      if (a == b || of[a].size() == 4 || of[b].size() == 4) continue;
      if (!edges.insert(std::minmax(a, b)).second) continue;
      const double c = normal(random);
      of[a].emplace_back(b, c);
      of[b].emplace_back(a, c);
    }
    for (int64_t i = 0; i < 2 * count; ++i) unary.push_back(field * normal(random));
    for (const auto& around : of) {
      for (const auto& [site, c] : around) {
        neighbour.push_back(site);
        coupling.push_back(c);
      }
      offset.push_back(static_cast<int64_t>(neighbour.size()));
    }
    colour(of);
  }

  void colour(const std::vector<std::vector<std::pair<int32_t, double>>>& of) {
    std::vector<int> colour(of.size(), -1);
    for (std::size_t i = 0; i < of.size(); ++i) {
      std::set<int> taken;
      for (const auto& near : of[i]) taken.insert(colour[near.first]);
      while (taken.count(++colour[i])) {
      }
    }
    for (int k = 0; k < 5; ++k) {
      for (std::size_t i = 0; i < of.size(); ++i) {
        if (colour[i] == k) coloured.push_back(static_cast<int32_t>(i));
      }
      colour_offset.push_back(static_cast<int64_t>(coloured.size()));
    }
  }

  Lattice lattice() const {
    return {sites, 2, unary.data(), offset.data(), neighbour.data(), coupling.data(), 0.25};
  }
  Colouring colouring() const { return {5, colour_offset.data(), coloured.data()}; }
  std::vector<uint8_t> states(int64_t chains, unsigned seed) const {
    std::mt19937 random(seed);
    std::vector<uint8_t> x(static_cast<std::size_t>(chains * sites));
    for (uint8_t& value : x) value = random() & 1;
    return x;
  }
};

struct Found {
  std::vector<int32_t> neighbour;
  std::vector<double> flip_energy, half_flip;
  std::vector<float> gradient;
  std::vector<uint32_t> threshold_word;
  NeighbourhoodTable neighbourhoods;

  explicit Found(const Graph& graph) : Found(graph.lattice()) {}
  explicit Found(const Lattice& lattice)
      : neighbour(lattice.sites * 4),
        flip_energy(lattice.sites * 16),
        half_flip(lattice.sites * 16),
        gradient(lattice.sites * 16),
        threshold_word(lattice.sites * 16) {
    const double constant = cpu::tabulate_neighbourhoods(
        lattice, {neighbour.data(), flip_energy.data(), half_flip.data(), gradient.data(),
                  threshold_word.data()});
    neighbourhoods = {lattice.sites,    constant,        neighbour.data(),     flip_energy.data(),
                      half_flip.data(), gradient.data(), threshold_word.data()};
  }

  int64_t at(const uint8_t* x, int64_t site) const {
    int64_t neighbourhood = 0;
    for (int n = 0; n < 4; ++n) {
      const int32_t other = neighbour[site * 4 + n];
      if (other < neighbourhoods.sites) neighbourhood += x[other] << n;
    }
    return site * 16 + neighbourhood;
  }
};

}  // namespace isinglass
