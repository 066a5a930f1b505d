// Transition matrices of the block samplers (docs/concepts/samplers.md), from their definitions: a
// mean over all blocks of m sites, each by loops over all states. Also sweeps of one-site
// conditionals.
#pragma once

#include "tests/reference/enumeration.h"

namespace isinglass::reference {

struct BlockRule {
  int sites;    // m
  int radius;   // r
  bool centre;  // hamming-ball's u; without it and with r < m the chain is biased
};

namespace detail {

inline std::vector<std::vector<int>> subsets(int sites, int size) {
  std::vector<std::vector<int>> all;
  for (int mask = 0; mask < (1 << sites); ++mask) {
    std::vector<int> subset;
    for (int i = 0; i < sites; ++i) {
      if (mask >> i & 1) subset.push_back(i);
    }
    if (static_cast<int>(subset.size()) == size) all.push_back(subset);
  }
  return all;
}

// The states that differ from x on the block only, at no more than `radius` sites.
inline std::vector<int> ball(const StateTable& table, const State& x, const std::vector<int>& block,
                             int radius) {
  std::vector<int> members;
  for (size_t e = 0; e < table.states.size(); ++e) {
    int inside = 0, all = 0;
    for (int i = 0; i < table.sites; ++i) all += table.states[e][i] != x[i];
    for (const int i : block) inside += table.states[e][i] != x[i];
    if (inside == all && all <= radius) members.push_back(static_cast<int>(e));
  }
  return members;
}

// Adds share·π(e) / Σ π over the members.
inline void add_restricted(const std::vector<double>& pi, const std::vector<int>& members,
                           double share, std::vector<double>& row) {
  double total = 0;
  for (const int e : members) total += pi[e];
  for (const int e : members) row[e] += share * pi[e] / total;
}

}  // namespace detail

inline Matrix block_transitions(const Target& target, const BlockRule& rule) {
  const auto& states = target.table.states;
  const std::vector<double> pi = target.probabilities();
  const auto blocks = detail::subsets(target.table.sites, rule.sites);
  Matrix t(states.size(), std::vector<double>(states.size(), 0.0));
  const double share = 1.0 / static_cast<double>(blocks.size());
  for (const auto& block : blocks) {
    for (size_t s = 0; s < states.size(); ++s) {
      const auto around = detail::ball(target.table, states[s], block, rule.radius);
      if (!rule.centre) {
        detail::add_restricted(pi, around, share, t[s]);
        continue;
      }
      for (const int u : around) {
        detail::add_restricted(pi, detail::ball(target.table, states[u], block, rule.radius),
                               share / static_cast<double>(around.size()), t[s]);
      }
    }
  }
  return t;
}

// The block's sites (all if it is all of them) drawn each from its conditional given the old x.
inline Matrix independent_transitions(const Target& target, int size) {
  const auto& states = target.table.states;
  const std::vector<double> pi = target.probabilities();
  const auto blocks = detail::subsets(target.table.sites, size);
  Matrix t(states.size(), std::vector<double>(states.size(), 0.0));
  for (const auto& block : blocks) {
    for (size_t s = 0; s < states.size(); ++s) {
      for (const int e : detail::ball(target.table, states[s], block, size)) {
        double p = 1.0 / static_cast<double>(blocks.size());
        for (const int i : block) {
          State y = states[s];
          double total = 0;
          for (y[i] = 0; y[i] < target.table.categories; ++y[i]) total += pi[target.table.index(y)];
          y[i] = states[e][i];
          p *= pi[target.table.index(y)] / total;
        }
        t[s][e] += p;
      }
    }
  }
  return t;
}

inline Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c(a.size(), std::vector<double>(a.size(), 0.0));
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t k = 0; k < a.size(); ++k) {
      for (size_t j = 0; j < a.size(); ++j) c[i][j] += a[i][k] * b[k][j];
    }
  }
  return c;
}

// One Metropolis test of the flip of a binary site.
inline Matrix flip_transitions(const Target& target, int site) {
  const auto& states = target.table.states;
  Matrix t(states.size(), std::vector<double>(states.size(), 0.0));
  for (size_t s = 0; s < states.size(); ++s) {
    State y = states[s];
    y[site] = 1 - y[site];
    const int e = target.table.index(y);
    t[s][e] = std::min(1.0, std::exp(target.energy[s] - target.energy[e]));
    t[s][s] = 1 - t[s][e];
  }
  return t;
}

// Steps at one site each, by default Gibbs draws, of the sites in this order.
inline Matrix sweep_transitions(const Target& target, const std::vector<int>& order,
                                Matrix (*at_site)(const Target&, int) = gibbs_transitions) {
  Matrix t = at_site(target, order.front());
  for (size_t n = 1; n < order.size(); ++n) t = product(t, at_site(target, order[n]));
  return t;
}

}  // namespace isinglass::reference
