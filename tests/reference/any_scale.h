// Any-scale balanced samplers from the formulas of docs/concepts/samplers.md, in plain float64: a
// tiny ordered target, the proposal given the auxiliary u, and transition matrices: enumerated
// where W + D = AᵀA vanishes, by quadrature over u in two dimensions where it does not. Shares no
// arithmetic with the code under test, which never sees W, nor u.
#pragma once

#include "io/torch.h"
#include "models/energy_model.h"
#include "tests/reference/enumeration.h"

namespace isinglass::reference {

using Vector = std::vector<double>;

// With t_i = h x_i, h = 1 (K = 2) or 2/(K − 1):
//   U = Σ a_i t_i + Σ_{i≤j} b_ij t_i t_j + c·t_0 t_1 t_last + e·sin(Σ w_i t_i)
// The gradient is taken in the value x_i. Neither quadratic nor symmetric.
struct OrderedTarget {
  int sites, categories;
  double strength;

  double h() const { return categories == 2 ? 1.0 : 2.0 / (categories - 1); }
  double a(int i) const { return strength * 0.7 * std::cos(1.1 * i + 0.3); }
  double b(int i, int j) const {
    return strength * (i == j ? 0.4 + 0.2 * i : 0.9 * std::sin(2.3 * i + 1.7 * j + 0.5));
  }
  double c() const { return strength * 0.5; }
  double e() const { return strength * 0.6; }
  double w(int i) const { return 1.9 + 0.7 * i; }

  double energy(const State& x) const {
    double u = 0, phase = 0;
    Vector t;
    for (const int value : x) t.push_back(h() * value);
    for (int i = 0; i < sites; ++i) {
      u += a(i) * t[i];
      phase += w(i) * t[i];
      for (int j = i; j < sites; ++j) u += b(i, j) * t[i] * t[j];
    }
    return u + c() * t[0] * t[1] * t[sites - 1] + e() * std::sin(phase);
  }

  Vector gradient(const State& x) const {
    Vector t, g(sites, 0.0);
    double phase = 0;
    for (const int value : x) t.push_back(h() * value);
    for (int i = 0; i < sites; ++i) phase += w(i) * t[i];
    for (int i = 0; i < sites; ++i) {
      g[i] += a(i) + e() * w(i) * std::cos(phase);
      for (int j = i; j < sites; ++j) {
        g[i] += b(i, j) * t[j];
        g[j] += b(i, j) * t[i];
      }
    }
    g[0] += c() * t[1] * t[sites - 1];
    g[1] += c() * t[0] * t[sites - 1];
    g[sites - 1] += c() * t[0] * t[1];
    for (double& value : g) value *= h();
    return g;
  }

  // Target::gradient holds one number a site: the derivative in the value.
  Target enumerate() const {
    Target target{StateTable(sites, categories), {}, {}};
    for (const State& x : target.table.states) {
      target.energy.push_back(energy(x));
      target.gradient.emplace_back();
      for (const double g : gradient(x)) target.gradient.back().push_back({g});
    }
    return target;
  }
};

// The same target as a model that the samplers run on (autograd).
class OrderedModel : public EnergyModel {
 public:
  explicit OrderedModel(const OrderedTarget& t) : t_(t) {
    const auto real = torch::kFloat64;
    a_ = torch::empty({t.sites}, real);
    w_ = torch::empty({t.sites}, real);
    b_ = torch::zeros({t.sites, t.sites}, real);
    for (int i = 0; i < t.sites; ++i) {
      a_[i] = t.a(i);
      w_[i] = t.w(i);
      for (int j = i; j < t.sites; ++j) b_[i][j] = t.b(i, j);
    }
  }
  std::string kind_name() const override { return "ordered-tiny"; }
  StateSpace space() const override {
    return {t_.categories == 2 ? StateKind::kBinary : StateKind::kOrdered, t_.sites, t_.categories};
  }
  torch::Tensor energy(const torch::Tensor& x) override {
    ++calls;
    const torch::Tensor t = relaxed(x).to(torch::kFloat64) * t_.h();
    const torch::Tensor cubic = t.select(1, 0) * t.select(1, 1) * t.select(1, t_.sites - 1);
    return t.matmul(a_) + (t.matmul(b_.t()) * t).sum(-1) + t_.c() * cubic +
           t_.e() * torch::sin(t.matmul(w_));
  }

  int64_t calls = 0;

 private:
  OrderedTarget t_;
  torch::Tensor a_, w_, b_;
};

// The mistakes of deliberately broken any-scale samplers.
enum class AnyScaleFault {
  kNone,
  kNoValueTerm,      // x_i/σ is left out, as in the paper's eq. 14: exact, but another proposal
  kNoReverse,        // q(x | y, u) is left out
  kReverseAtX,       // the reverse uses s(x)
  kNoDensity,        // log N(u; A y, I) − log N(u; A x, I) is left out
  kReverseDiagonal,  // the reverse leaves D out
};

struct AnyScaleRule {
  double sigma, alpha;
  Matrix w;  // [D][D]
  Vector d;  // [D]
  Matrix a;  // [D][D], AᵀA = W + D; empty: no u
  AnyScaleFault fault = AnyScaleFault::kNone;
};

inline Vector times(const Matrix& m, const State& x) {
  Vector out(m.size(), 0.0);
  for (size_t i = 0; i < m.size(); ++i) {
    for (size_t j = 0; j < x.size(); ++j) out[i] += m[i][j] * x[j];
  }
  return out;
}

// c(x) = s(x) − W x + Aᵀu; gradient of U at x.
inline Vector any_scale_field(const AnyScaleRule& rule, const Vector& gradient, const State& x,
                              const Vector& u) {
  Vector c = times(rule.w, x);
  for (size_t i = 0; i < c.size(); ++i) {
    c[i] = -gradient[i] - c[i];
    for (size_t j = 0; j < rule.a.size(); ++j) c[i] += rule.a[j][i] * u[j];
  }
  return c;
}

// log q(y | x, u)
inline double any_scale_log_q(const AnyScaleRule& rule, const Vector& gradient, int categories,
                              const State& x, const State& y, const Vector& u,
                              bool reverse = false) {
  const Vector c = any_scale_field(rule, gradient, x, u);
  double log_q = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double shift = rule.fault == AnyScaleFault::kNoValueTerm ? 0 : x[i] / rule.sigma;
    const bool flat = reverse && rule.fault == AnyScaleFault::kReverseDiagonal;
    const double curvature = rule.alpha * (flat ? 0 : rule.d[i]) + 1 / rule.sigma;
    const auto logit = [&](int v) {
      return v * (rule.alpha * c[i] + shift) - 0.5 * v * v * curvature;
    };
    double top = logit(0), total = 0;
    for (int v = 1; v < categories; ++v) top = std::max(top, logit(v));
    for (int v = 0; v < categories; ++v) total += std::exp(logit(v) - top);
    log_q += logit(y[i]) - top - std::log(total);
  }
  return log_q;
}

// log N(u; A x, I) + ½ D log 2π
inline double log_density(const AnyScaleRule& rule, const State& x, const Vector& u) {
  if (rule.a.empty()) return 0;
  const Vector mean = times(rule.a, x);
  double sum = 0;
  for (size_t i = 0; i < u.size(); ++i) sum -= 0.5 * (u[i] - mean[i]) * (u[i] - mean[i]);
  return sum;
}

namespace detail {

inline Vector slopes(const Target& target, size_t s) {
  Vector g;
  for (const Vector& site : target.gradient[s]) g.push_back(site[0]);
  return g;
}

// Adds share·N(u; A x, I)·(2π)^{D/2}·q(y | x, u)·P(accept) of all pairs to t.
inline void add_transitions(const Target& target, const AnyScaleRule& rule, const Vector& u,
                            double share, Matrix& t) {
  const auto& states = target.table.states;
  const int k = target.table.categories;
  std::vector<Vector> g;
  for (size_t s = 0; s < states.size(); ++s) g.push_back(slopes(target, s));
  for (size_t s = 0; s < states.size(); ++s) {
    const double here = log_density(rule, states[s], u);
    for (size_t e = 0; e < states.size(); ++e) {
      const double forward = any_scale_log_q(rule, g[s], k, states[s], states[e], u);
      const Vector& reverse_g = rule.fault == AnyScaleFault::kReverseAtX ? g[s] : g[e];
      double ratio = target.energy[s] - target.energy[e];
      if (rule.fault != AnyScaleFault::kNoDensity) ratio += log_density(rule, states[e], u) - here;
      if (rule.fault != AnyScaleFault::kNoReverse) {
        ratio += any_scale_log_q(rule, reverse_g, k, states[e], states[s], u, /*reverse=*/true) -
                 forward;
      }
      const double p = share * std::exp(here + forward), accept = std::min(1.0, std::exp(ratio));
      t[s][e] += p * accept;
      t[s][s] += p * (1 - accept);
    }
  }
}

}  // namespace detail

// The transition matrix; with u (D = 2 only) by the trapezoidal rule in steps of `grid`, from 7
// below the least mean A x to 7 above the greatest.
inline Matrix any_scale_transitions(const Target& target, const AnyScaleRule& rule,
                                    double grid = 0.1) {
  const size_t n = target.table.states.size();
  Matrix t(n, Vector(n, 0.0));
  if (rule.a.empty()) {
    detail::add_transitions(target, rule, {}, 1.0, t);
    return t;
  }
  double low[2] = {0, 0}, high[2] = {0, 0};
  for (const State& x : target.table.states) {
    const Vector mean = times(rule.a, x);
    for (int i = 0; i < 2; ++i) {
      low[i] = std::min(low[i], mean[i]);
      high[i] = std::max(high[i], mean[i]);
    }
  }
  const double share = grid * grid / (2 * std::acos(-1.0));
  for (double u = low[0] - 7; u < high[0] + 7; u += grid) {
    for (double v = low[1] - 7; v < high[1] + 7; v += grid) {
      detail::add_transitions(target, rule, {u, v}, share, t);
    }
  }
  return t;
}

// Upper triangular A with AᵀA = W + D, 2 × 2.
inline Matrix two_by_two_root(const Matrix& w, const Vector& d) {
  const double a = std::sqrt(w[0][0] + d[0]), b = w[0][1] / a;
  return {{a, b}, {0, std::sqrt(w[1][1] + d[1] - b * b)}};
}

}  // namespace isinglass::reference
