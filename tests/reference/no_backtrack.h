// nb, the path without replacement (docs/concepts/samplers.md), from its definition:
//
//   P(pairs | x) = Π_l w(i_l, k_l) / Σ_{i not drawn before l} Σ_{k ≠ x_i} w(i, k),  w at x
//   throughout
//
// The reverse is the same function at y, of the old values in reverse order.
#pragma once

#include <algorithm>

#include "tests/reference/enumeration.h"

namespace isinglass::reference {

enum class NbFault {
  kNone,
  kForwardOrder,  // the reverse draws the sites in forward order: another kernel, exact as well
  kReplacement,   // the reverse pool keeps drawn sites
  kReverseAtX,    // the reverse is scored with the gradient at x
  kNoReverse,     // the reverse probability is left out
};

struct NbRule {
  double radius;
  G g;
  NbFault fault = NbFault::kNone;
};

struct SiteValue {
  int site, value;
};

// log P(pairs | at) with the gradient there; `leaves` false: drawn sites stay in the pool.
inline double log_without_replacement(const Matrix& gradient, G g, const State& at,
                                      const std::vector<SiteValue>& pairs, bool leaves = true) {
  double log_q = 0;
  for (size_t l = 0; l < pairs.size(); ++l) {
    double pool = 0;
    for (size_t i = 0; i < at.size(); ++i) {
      const bool drawn = std::any_of(pairs.begin(), pairs.begin() + l, [&](const SiteValue& p) {
        return p.site == static_cast<int>(i);
      });
      if (!drawn || !leaves) pool += detail::site_weight(gradient, at, static_cast<int>(i), g);
    }
    log_q += std::log(detail::weight(gradient, at, pairs[l].site, pairs[l].value, g) / pool);
  }
  return log_q;
}

// The pairs that lead back from y to x.
inline std::vector<SiteValue> reverse_pairs(const State& x, std::vector<SiteValue> pairs) {
  for (SiteValue& p : pairs) p.value = x[p.site];
  std::reverse(pairs.begin(), pairs.end());
  return pairs;
}

inline double nb_log_reverse(const Target& target, const NbRule& rule, const State& x,
                             const State& y, const std::vector<SiteValue>& pairs) {
  std::vector<SiteValue> back = reverse_pairs(x, pairs);
  if (rule.fault == NbFault::kForwardOrder) std::reverse(back.begin(), back.end());
  const State& gradient_at = rule.fault == NbFault::kReverseAtX ? x : y;
  return log_without_replacement(target.gradient[target.table.index(gradient_at)], rule.g, y, back,
                                 rule.fault != NbFault::kReplacement);
}

// Adds all paths of one length from x, with probability `shard`, to row `from` of t.
inline void add_nb_paths(const Target& target, const NbRule& rule, const State& x, int length,
                         double share, std::vector<double>& row) {
  const int from = target.table.index(x);
  std::vector<SiteValue> pairs;
  std::function<void(const State&)> extend = [&](const State& y) {
    if (static_cast<int>(pairs.size()) < length) {
      for (int i = 0; i < target.table.sites; ++i) {
        for (int k = 0; y[i] == x[i] && k < target.table.categories; ++k) {
          if (k == x[i]) continue;
          State next = y;
          next[i] = k;
          pairs.push_back({i, k});
          extend(next);
          pairs.pop_back();
        }
      }
      return;
    }
    const int to = target.table.index(y);
    const double forward = log_without_replacement(target.gradient[from], rule.g, x, pairs);
    double ratio = target.energy[from] - target.energy[to];
    if (rule.fault != NbFault::kNoReverse) {
      ratio += nb_log_reverse(target, rule, x, y, pairs) - forward;
    }
    const double q = share * std::exp(forward), accept = std::min(1.0, std::exp(ratio));
    row[to] += q * accept;
    row[from] += q * (1 - accept);
  };
  extend(x);
}

// The transition matrix of nb, exact: every path of every length.
inline Matrix nb_transitions(const Target& target, const NbRule& rule) {
  const auto& states = target.table.states;
  Matrix t(states.size(), std::vector<double>(states.size(), 0.0));
  const double width = 2 * rule.radius - 1, low = std::floor(width);
  for (const int extra : {0, 1}) {
    const double share = extra ? width - low : 1 - (width - low);
    if (share == 0) continue;
    const int n = static_cast<int>(low) + extra;
    for (int length = 1; length <= n; ++length) {
      for (size_t s = 0; s < states.size(); ++s) {
        add_nb_paths(target, rule, states[s], length, share / n, t[s]);
      }
    }
  }
  return t;
}

}  // namespace isinglass::reference
