// A slow, independent reference for the exactness tests: tiny targets, enumerated in float64, and
// the transition matrices of the samplers written from the formulas of docs/concepts/samplers.md.
// Shares no arithmetic with the code under test: weights are plain numbers here, not logarithms,
// sums are plain loops.
#pragma once

#include <cmath>
#include <functional>
#include <vector>

namespace isinglass::reference {

using State = std::vector<int>;
using Matrix = std::vector<std::vector<double>>;

// All K^D states; index of a state = its number in base K, site 0 first.
struct StateTable {
  int sites, categories;
  std::vector<State> states;

  StateTable(int d, int k) : sites(d), categories(k) {
    int count = 1;
    for (int i = 0; i < d; ++i) count *= k;
    for (int n = 0; n < count; ++n) {
      State x(d);
      for (int i = 0, rest = n; i < d; ++i, rest /= k) x[i] = rest % k;
      states.push_back(x);
    }
  }
  int index(const State& x) const {
    int n = 0;
    for (int i = sites; i-- > 0;) n = n * categories + x[i];
    return n;
  }
};

// A target: energies of all states, and the gradient of U in the one-hot input at each of them.
// Binary targets give the gradient in the relaxed state as gradient[x][i][1], with
// gradient[x][i][0] = 0.
struct Target {
  StateTable table;
  std::vector<double> energy;
  std::vector<Matrix> gradient;  // [state][site][value]

  std::vector<double> probabilities() const;
};

inline std::vector<double> Target::probabilities() const {
  std::vector<double> p;
  double total = 0;
  for (double u : energy) {
    p.push_back(std::exp(-u));
    total += p.back();
  }
  for (double& value : p) value /= total;
  return p;
}

enum class G { kSqrt, kBarker, kMin, kMax };

inline double balance(G g, double t) {
  switch (g) {
    case G::kSqrt:
      return std::sqrt(t);
    case G::kBarker:
      return t / (1 + t);
    case G::kMin:
      return std::min(1.0, t);
    default:
      return std::max(1.0, t);
  }
}

// The mistakes of deliberately broken samplers.
enum class Fault {
  kNone,
  kSign,        // the energy difference enters the ratio with the wrong sign
  kNoReverse,   // the reverse probability is left out
  kReverseAtX,  // the reverse path is scored with the gradient at x
  kNoMask,      // the reverse scores the current value as a possible move (categorical)
  kNoUpdate,    // pafs: the weights do not follow the path in the reverse direction
};

struct Rule {
  bool linearised;  // pafs, else gwg
  double radius;
  G g;
  Fault fault = Fault::kNone;
};

namespace detail {

// Weight of moving `site` from its value in `at` to k; gradient [site][value].
inline double weight(const Matrix& gradient, const State& at, int site, int k, G g) {
  return balance(g, std::exp(gradient[site][at[site]] - gradient[site][k]));
}

// Σ over the other values of a site; with `mask` false the current one counts too, as in a broken
// sampler.
inline double site_weight(const Matrix& gradient, const State& at, int site, G g,
                          bool mask = true) {
  double sum = 0;
  for (int k = 0; k < static_cast<int>(gradient[site].size()); ++k) {
    if (k != at[site] || !mask) sum += weight(gradient, at, site, k, g);
  }
  return sum;
}

inline double total_weight(const Matrix& gradient, const State& at, G g, bool mask = true) {
  double sum = 0;
  for (size_t i = 0; i < at.size(); ++i)
    sum += site_weight(gradient, at, static_cast<int>(i), g, mask);
  return sum;
}

struct Move {
  int site, from, to;
};

}  // namespace detail

// All paths from x: calls visit(y, moves, probability of the path given its length).
inline void each_path(
    const Target& target, const Rule& rule, const State& x, int length,
    const std::function<void(const State&, const std::vector<detail::Move>&, double)>& visit) {
  const Matrix& gradient = target.gradient[target.table.index(x)];
  std::vector<detail::Move> moves;
  std::function<void(State, double)> extend = [&](State y, double q) {
    if (static_cast<int>(moves.size()) == length) return visit(y, moves, q);
    const State& at = rule.linearised ? y : x;
    const double total = detail::total_weight(gradient, at, rule.g);
    for (int i = 0; i < target.table.sites; ++i) {
      if (!rule.linearised && y[i] != x[i]) {  // a revisited site keeps its new value
        moves.push_back({i, x[i], x[i]});
        extend(y, q * detail::site_weight(gradient, x, i, rule.g) / total);
        moves.pop_back();
        continue;
      }
      for (int k = 0; k < target.table.categories; ++k) {
        if (k == at[i]) continue;
        const double p = detail::weight(gradient, at, i, k, rule.g) / total;
        moves.push_back({i, at[i], k});
        State next = y;
        next[i] = k;
        extend(next, q * p);
        moves.pop_back();
      }
    }
  };
  extend(x, 1.0);
}

// The probability of one path from x, given its length; gradient at x.
inline double path_probability(const Matrix& gradient, const Rule& rule, State at,
                               const std::vector<detail::Move>& moves) {
  double q = 1;
  for (const auto& move : moves) {
    const double chosen = move.from == move.to
                              ? detail::site_weight(gradient, at, move.site, rule.g)
                              : detail::weight(gradient, at, move.site, move.to, rule.g);
    q *= chosen / detail::total_weight(gradient, at, rule.g);
    if (rule.linearised) at[move.site] = move.to;
  }
  return q;
}

// The probability of the reversed path from y; gradient at y.
inline double reverse_probability(const Matrix& gradient, const Rule& rule, const State& y,
                                  const std::vector<detail::Move>& moves) {
  const bool mask = rule.fault != Fault::kNoMask;
  double q = 1;
  State at = y;
  for (size_t l = moves.size(); l-- > 0;) {
    const auto& move = moves[l];
    const double chosen = move.from == move.to
                              ? detail::site_weight(gradient, at, move.site, rule.g, mask)
                              : detail::weight(gradient, at, move.site, move.from, rule.g);
    q *= chosen / detail::total_weight(gradient, at, rule.g, mask);
    if (rule.linearised && rule.fault != Fault::kNoUpdate) at[move.site] = move.from;
  }
  return q;
}

// The transition matrix of gwg or pafs, exact: every path of every length.
inline Matrix path_transitions(const Target& target, const Rule& rule) {
  const auto& states = target.table.states;
  Matrix t(states.size(), std::vector<double>(states.size(), 0.0));
  const double width = 2 * rule.radius - 1;
  const int low = static_cast<int>(std::floor(width));
  for (int extra = 0; extra <= 1; ++extra) {
    const double share = extra ? width - low : 1 - (width - low);
    if (share == 0) continue;
    const int n = low + extra;
    for (int length = 1; length <= n; ++length) {
      for (size_t s = 0; s < states.size(); ++s) {
        each_path(target, rule, states[s], length,
                  [&](const State& y, const auto& moves, double forward) {
                    const int e = target.table.index(y);
                    const double backward = reverse_probability(
                        target.gradient[rule.fault == Fault::kReverseAtX ? s : e], rule, y, moves);
                    double difference = target.energy[s] - target.energy[e];
                    if (rule.fault == Fault::kSign) difference = -difference;
                    const double reverse = rule.fault == Fault::kNoReverse ? 1.0 : backward;
                    const double ratio = std::exp(difference) * reverse /
                                         (rule.fault == Fault::kNoReverse ? 1.0 : forward);
                    const double p = share / n * forward;
                    const double accept = std::min(1.0, ratio);
                    t[s][e] += p * accept;
                    t[s][s] += p * (1 - accept);
                  });
      }
    }
  }
  return t;
}

// Random walk: R distinct sites, each to a uniform other value.
inline Matrix random_walk_transitions(const Target& target, int radius) {
  const auto& states = target.table.states;
  const int d = target.table.sites, k = target.table.categories;
  double sets = 1, values = std::pow(k - 1, radius);
  for (int i = 0; i < radius; ++i) sets *= static_cast<double>(d - i) / (i + 1);
  Matrix t(states.size(), std::vector<double>(states.size(), 0.0));
  for (size_t s = 0; s < states.size(); ++s) {
    for (size_t e = 0; e < states.size(); ++e) {
      int distance = 0;
      for (int i = 0; i < d; ++i) distance += states[s][i] != states[e][i];
      if (distance != radius) continue;
      t[s][e] = std::min(1.0, std::exp(target.energy[s] - target.energy[e])) / (sets * values);
    }
    double out = 0;
    for (double p : t[s]) out += p;
    t[s][s] += 1 - out;
  }
  return t;
}

// Gibbs of one site, or the mixture over uniform sites (site < 0).
inline Matrix gibbs_transitions(const Target& target, int site) {
  const auto& states = target.table.states;
  Matrix t(states.size(), std::vector<double>(states.size(), 0.0));
  for (int i = 0; i < target.table.sites; ++i) {
    if (site >= 0 && i != site) continue;
    const double share = site >= 0 ? 1.0 : 1.0 / target.table.sites;
    for (size_t s = 0; s < states.size(); ++s) {
      double total = 0;
      State y = states[s];
      for (int k = 0; k < target.table.categories; ++k) {
        y[i] = k;
        total += std::exp(-target.energy[target.table.index(y)]);
      }
      for (int k = 0; k < target.table.categories; ++k) {
        y[i] = k;
        const int e = target.table.index(y);
        t[s][e] += share * std::exp(-target.energy[e]) / total;
      }
    }
  }
  return t;
}

// max_y |Σ_x π(x) T(x, y) − π(y)|
inline double stationarity_error(const Matrix& t, const std::vector<double>& pi) {
  double worst = 0;
  for (size_t y = 0; y < pi.size(); ++y) {
    double sum = 0;
    for (size_t x = 0; x < pi.size(); ++x) sum += pi[x] * t[x][y];
    worst = std::max(worst, std::abs(sum - pi[y]));
  }
  return worst;
}

// max |π(x) T(x, y) − π(y) T(y, x)|
inline double balance_error(const Matrix& t, const std::vector<double>& pi) {
  double worst = 0;
  for (size_t x = 0; x < pi.size(); ++x) {
    for (size_t y = 0; y < pi.size(); ++y) {
      worst = std::max(worst, std::abs(pi[x] * t[x][y] - pi[y] * t[y][x]));
    }
  }
  return worst;
}

// Number of communicating classes of the transition graph.
inline int communicating_classes(const Matrix& t) {
  const size_t n = t.size();
  std::vector<std::vector<bool>> reach(n, std::vector<bool>(n));
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) reach[i][j] = i == j || t[i][j] > 0;
  }
  for (size_t k = 0; k < n; ++k) {
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; reach[i][k] && j < n; ++j) {
        if (reach[k][j]) reach[i][j] = true;
      }
    }
  }
  std::vector<bool> seen(n);
  int classes = 0;
  for (size_t i = 0; i < n; ++i) {
    if (seen[i]) continue;
    ++classes;
    for (size_t j = 0; j < n; ++j) {
      if (reach[i][j] && reach[j][i]) seen[j] = true;
    }
  }
  return classes;
}

}  // namespace isinglass::reference
