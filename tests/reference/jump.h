// Slow, independent references of the jump samplers (docs/concepts/samplers.md): the transition row
// of a site written from the formulas, and the enumerated matrices. Plain numbers in long double,
// whose range holds what |d| = 300 leads to; (I − τQ)^{-1} by the matrix forest theorem, or by
// elimination with pivots.
#pragma once

#include <algorithm>

#include "tests/reference/enumeration.h"

namespace isinglass::reference {

using Row = std::vector<long double>;

enum class Jump { kInterpolation, kForwardEuler, kBackwardEuler, kLangevin };

struct JumpCase {
  Jump rule;
  G g;
  double scale;          // τ, or a
  bool ordered = false;  // δ = (k − c)²
  Fault fault = Fault::kNone;
  bool adjusted = true;
};

// θ_{j→k} with s = −gradient
inline long double jump_rate(const std::vector<double>& gradient, G g, int j, int k) {
  return balance(g, std::exp(gradient[j] - gradient[k]));
}

// Row c of (I − τQ)^{-1}, a ratio of sums over spanning forests: every state is a root or has one
// successor, without cycles; a forest counts for the root that c leads to (Chebotarev & Shamis
// 1997). All terms are positive.
inline Row forest_row(const std::vector<double>& gradient, G g, double tau, int c) {
  const int values = static_cast<int>(gradient.size());
  std::vector<Row> rate(values, Row(values, 1.0L));
  long long maps = 1;
  for (int j = 0; j < values; ++j) {
    maps *= values;
    for (int k = 0; k < values; ++k) {
      if (k != j) rate[j][k] = tau * jump_rate(gradient, g, j, k);
    }
  }
  Row sum(values, 0.0L);
  std::vector<int> next(values);
  for (long long n = 0; n < maps; ++n) {
    long long rest = n;
    long double weight = 1;
    for (int j = 0; j < values; ++j, rest /= values) {
      next[j] = static_cast<int>(rest % values);
      weight *= rate[j][next[j]];
    }
    int root = c;
    bool forest = true;
    for (int j = 0; j < values && forest; ++j) {
      int at = j;
      for (int step = 0; step < values; ++step) at = next[at];
      forest = next[at] == at;
      if (j == c) root = at;
    }
    if (forest) sum[root] += weight;
  }
  long double total = 0;
  for (long double s : sum) total += s;
  for (long double& s : sum) s /= total;
  return sum;
}

// The same by Gaussian elimination with row pivots; for rates that are not extreme.
inline Row solved_row(const std::vector<double>& gradient, G g, double tau, int c) {
  const int n = static_cast<int>(gradient.size());
  std::vector<Row> m(n, Row(n + 1, 0.0L));  // (I − τQ)ᵀ | e_c
  for (int j = 0; j < n; ++j) {
    m[j][j] += 1;
    for (int k = 0; k < n; ++k) {
      if (k == j) continue;
      const long double r = tau * jump_rate(gradient, g, j, k);
      m[j][j] += r;
      m[k][j] -= r;
    }
  }
  m[c][n] = 1;
  for (int p = 0; p < n; ++p) {
    int best = p;
    for (int i = p; i < n; ++i) {
      if (std::abs(m[i][p]) > std::abs(m[best][p])) best = i;
    }
    std::swap(m[p], m[best]);
    for (int i = 0; i < n; ++i) {
      if (i == p) continue;
      const long double factor = m[i][p] / m[p][p];
      for (int k = p; k <= n; ++k) m[i][k] -= factor * m[p][k];
    }
  }
  Row row(n);
  for (int k = 0; k < n; ++k) row[k] = m[k][n] / m[k][k];
  return row;
}

// P_k of a site with value c; gradient [K] of U.
inline Row jump_row(const JumpCase& jump, const std::vector<double>& gradient, int c) {
  const int values = static_cast<int>(gradient.size());
  if (jump.rule == Jump::kBackwardEuler) {
    return values <= 5 ? forest_row(gradient, jump.g, jump.scale, c)
                       : solved_row(gradient, jump.g, jump.scale, c);
  }
  long double boltzmann = 0, out = 0, moved = 0, left = 0;
  for (int k = 0; k < values; ++k) {
    boltzmann += expl(-static_cast<long double>(gradient[k]));
    if (k != c) out += jump_rate(gradient, jump.g, c, k);
  }
  const long double tau = std::min<long double>(jump.scale, 0.99L / out);
  Row row(values);
  for (int k = 0; k < values; ++k) {
    const long double nu = expl(-static_cast<long double>(gradient[k])) / boltzmann;
    const long double theta = jump_rate(gradient, jump.g, c, k);
    const double distance = jump.ordered ? (k - c) * (k - c) : k != c;
    switch (jump.rule) {
      case Jump::kInterpolation:
        row[k] = -nu * expm1l(-jump.scale * theta / nu);
        if (k != c) left += nu * expl(-jump.scale * theta / nu);
        if (k == c) left += nu;
        break;
      case Jump::kForwardEuler:
        row[k] = tau * theta;
        break;
      default:
        row[k] = expl((static_cast<long double>(gradient[c]) - gradient[k]) / 2 -
                      distance / (2 * jump.scale));
        left += row[k];
    }
    if (k != c) moved += row[k];
  }
  if (jump.rule == Jump::kLangevin) {
    for (long double& p : row) p /= left;
    return row;
  }
  row[c] = 1 - moved;
  // If 1 − Σ has no significant digits, uses the remainder of ν at every value.
  if (jump.rule == Jump::kInterpolation && row[c] < 1e-3L) row[c] = left;
  return row;
}

// e^{τQ} of a site with two values, by its series and squaring.
inline Matrix two_value_exponential(const std::vector<double>& gradient, G g, double tau) {
  const double there = static_cast<double>(jump_rate(gradient, g, 0, 1));
  const double back = static_cast<double>(jump_rate(gradient, g, 1, 0));
  const int halvings = 20;
  const double t = tau / (1 << halvings);
  const auto times = [](const Matrix& a, const Matrix& b) {
    Matrix c(2, std::vector<double>(2));
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) c[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j];
    }
    return c;
  };
  const Matrix q = {{-there * t, there * t}, {back * t, -back * t}};
  Matrix term = {{1, 0}, {0, 1}}, sum = term;
  for (int n = 1; n <= 8; ++n) {
    term = times(term, q);
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) {
        term[i][j] /= n;
        sum[i][j] += term[i][j];
      }
    }
  }
  for (int i = 0; i < halvings; ++i) sum = times(sum, sum);
  return sum;
}

// q(to | from): the product over sites; gradient [site][value] at `from`, but for a fault.
inline long double jump_probability(const JumpCase& jump, const Matrix& gradient, const State& from,
                                    const State& to) {
  long double q = 1;
  for (size_t i = 0; i < from.size(); ++i) q *= jump_row(jump, gradient[i], from[i])[to[i]];
  return q;
}

inline Matrix jump_transitions(const Target& target, const JumpCase& jump) {
  const auto& states = target.table.states;
  const size_t n = states.size();
  const auto q = [&](size_t at, size_t from, size_t to) {
    return jump_probability(jump, target.gradient[at], states[from], states[to]);
  };
  std::vector<Row> forward(n, Row(n));
  for (size_t s = 0; s < n; ++s) {
    for (size_t e = 0; e < n; ++e) forward[s][e] = q(s, s, e);
  }
  Matrix t(n, std::vector<double>(n, 0.0));
  for (size_t s = 0; s < n; ++s) {
    for (size_t e = 0; e < n; ++e) {
      double difference = target.energy[s] - target.energy[e];
      if (jump.fault == Fault::kSign) difference = -difference;
      const long double backward = jump.fault == Fault::kReverseAtX ? q(s, e, s) : forward[e][s];
      long double ratio = expl(difference) * backward / forward[s][e];
      if (jump.fault == Fault::kNoReverse) ratio = expl(difference);
      if (!jump.adjusted) ratio = 1;
      const long double accept = std::min(1.0L, ratio);
      t[s][e] += static_cast<double>(forward[s][e] * accept);
      t[s][s] += static_cast<double>(forward[s][e] * (1 - accept));
    }
  }
  return t;
}

}  // namespace isinglass::reference
