// The exact reference of lb and pas: moves to neighbours with probability g(π(y)/π(x))/Z_g(x), on
// any enumerated target, in plain float64. The path's acceptance is written in its closed form,
// Z_g(x)/Z_g(y), which the code under test does not use.
#pragma once

#include <algorithm>
#include <numeric>

#include "tests/reference/enumeration.h"

namespace isinglass::reference {

// All states of a target with their energies and neighbours.
struct Graph {
  std::vector<State> states;
  std::vector<double> energy;
  std::vector<std::vector<int>> neighbours;

  std::vector<double> probabilities() const {
    double total = 0;
    std::vector<double> p;
    for (const double u : energy) total += std::exp(-u);
    for (const double u : energy) p.push_back(std::exp(-u) / total);
    return p;
  }
};

// States are neighbours that differ at `distance` positions: 1 of independent sites, 2 of
// permutations.
inline Graph join(std::vector<State> states, std::vector<double> energy, int distance) {
  Graph graph{std::move(states), std::move(energy), {}};
  for (const State& x : graph.states) {
    std::vector<int> of_x;
    for (size_t e = 0; e < graph.states.size(); ++e) {
      int differ = 0;
      for (size_t i = 0; i < x.size(); ++i) differ += x[i] != graph.states[e][i];
      if (differ == distance) of_x.push_back(static_cast<int>(e));
    }
    graph.neighbours.push_back(of_x);
  }
  return graph;
}

// All permutations of 0 … p − 1 with cost Σ_i w[i][ρ(i)].
inline Graph permutation_graph(const Matrix& w) {
  std::vector<State> states;
  std::vector<double> energy;
  State x(w.size());
  std::iota(x.begin(), x.end(), 0);
  do {
    double u = 0;
    for (size_t i = 0; i < w.size(); ++i) u += w[i][x[i]];
    states.push_back(x);
    energy.push_back(u);
  } while (std::next_permutation(x.begin(), x.end()));
  return join(std::move(states), std::move(energy), 2);
}

// Z_g(x) = Σ over neighbours of g(π(y)/π(x)).
inline double informed_total(const Graph& graph, size_t x, G g) {
  double sum = 0;
  for (const int y : graph.neighbours[x])
    sum += balance(g, std::exp(graph.energy[x] - graph.energy[y]));
  return sum;
}

// The mistakes of deliberately broken samplers.
enum class InformedFault {
  kNone,
  kInverse,    // Z_g(y)/Z_g(x)
  kNoReverse,  // symmetric proposals assumed: π(y)/π(x)
  kAlways,     // no test
  kFrozen,     // a path's weights stay those of x
};

inline Matrix informed_transitions(const Graph& graph, double radius, G g,
                                   InformedFault fault = InformedFault::kNone) {
  const size_t n = graph.states.size();
  Matrix move(n, std::vector<double>(n));
  std::vector<double> total(n);
  for (size_t x = 0; x < n; ++x) {
    total[x] = informed_total(graph, x, g);
    for (const int y : graph.neighbours[x]) {
      move[x][y] = balance(g, std::exp(graph.energy[x] - graph.energy[y])) / total[x];
    }
  }
  const double width = 2 * radius - 1;
  const int low = static_cast<int>(std::floor(width));
  Matrix t(n, std::vector<double>(n)), path = move;
  for (int length = 1; length <= low + 1; ++length) {
    // n = low with probability 1 − (width − low), else low + 1; L uniform in 1 … n.
    const double share =
        (length <= low ? (1 - (width - low)) / low : 0) + (width - low) / (low + 1);
    for (size_t x = 0; x < n && share > 0; ++x) {
      for (size_t y = 0; y < n; ++y) {
        double ratio = total[x] / total[y];
        if (fault == InformedFault::kInverse) ratio = 1 / ratio;
        if (fault == InformedFault::kNoReverse) ratio = std::exp(graph.energy[x] - graph.energy[y]);
        if (fault == InformedFault::kAlways) ratio = 1;
        const double accepted = share * path[x][y] * std::min(1.0, ratio);
        t[x][y] += accepted;
        t[x][x] += share * path[x][y] - accepted;
      }
    }
    Matrix longer(n, std::vector<double>(n));
    for (size_t x = 0; x < n; ++x) {
      for (size_t z = 0; z < n; ++z) {
        for (size_t y = 0; y < n; ++y) {
          if (fault != InformedFault::kFrozen) {
            longer[x][y] += path[x][z] * move[z][y];
          } else if (move[z][y] > 0) {
            double all = 0;
            for (const int k : graph.neighbours[z])
              all += balance(g, std::exp(graph.energy[x] - graph.energy[k]));
            longer[x][y] +=
                path[x][z] * balance(g, std::exp(graph.energy[x] - graph.energy[y])) / all;
          }
        }
      }
    }
    path = std::move(longer);
  }
  return t;
}

}  // namespace isinglass::reference
