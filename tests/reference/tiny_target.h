// A small asymmetric target for exactness tests, twice: as plain float64 loops for the enumeration,
// and as a model that the samplers run on (autograd). Both from the same table of numbers, sharing
// no code.
//
//   f_i = φ_{i, x_i};  U = Σ a_i f_i + Σ_{i<j} b_ij f_i f_j + c·f_0 f_1 f_2 + e·sin(Σ w_i f_i)
//
// The cubic and the sine term make the gradient differ from the exact differences, and no symmetry
// hides a wrong sign. With D = 2 the cubic term is c·f_0² f_1.
#pragma once

#include "io/torch.h"
#include "models/energy_model.h"
#include "tests/reference/enumeration.h"

namespace isinglass::reference {

struct TinyTarget {
  int sites, categories;
  double strength;

  double phi(int i, int k) const {
    return categories == 2 ? k : std::sin(1.3 * i + 2.1 * k + 0.4) + 0.3 * k;
  }
  double a(int i) const { return strength * (0.7 * std::cos(1.1 * i + 0.3)); }
  double b(int i, int j) const { return strength * (0.9 * std::sin(2.3 * i + 1.7 * j + 0.5)); }
  double c() const { return strength * 0.8; }
  double e() const { return strength * 0.6; }
  double w(int i) const { return 1.9 + 0.7 * i; }
  int third() const { return sites > 2 ? 2 : 0; }

  double energy(const State& x) const {
    std::vector<double> f(sites);
    double u = 0, phase = 0;
    for (int i = 0; i < sites; ++i) f[i] = phi(i, x[i]);
    for (int i = 0; i < sites; ++i) {
      u += a(i) * f[i];
      phase += w(i) * f[i];
      for (int j = i + 1; j < sites; ++j) u += b(i, j) * f[i] * f[j];
    }
    return u + c() * f[0] * f[1] * f[third()] + e() * std::sin(phase);
  }

  // dU/df_i · φ_{i,k}: the gradient in the one-hot input.
  Matrix gradient(const State& x) const {
    std::vector<double> f(sites), slope(sites, 0.0);
    double phase = 0;
    for (int i = 0; i < sites; ++i) {
      f[i] = phi(i, x[i]);
      phase += w(i) * f[i];
    }
    for (int i = 0; i < sites; ++i) {
      slope[i] += a(i) + e() * w(i) * std::cos(phase);
      for (int j = 0; j < sites; ++j) {
        if (j != i) slope[i] += (i < j ? b(i, j) : b(j, i)) * f[j];
      }
    }
    slope[0] += c() * f[1] * f[third()];
    slope[1] += c() * f[0] * f[third()];
    slope[third()] += c() * f[0] * f[1];
    Matrix g(sites, std::vector<double>(categories));
    for (int i = 0; i < sites; ++i) {
      for (int k = 0; k < categories; ++k) g[i][k] = slope[i] * phi(i, k);
    }
    return g;
  }

  Target enumerate() const {
    Target target{StateTable(sites, categories), {}, {}};
    for (const State& x : target.table.states) {
      target.energy.push_back(energy(x));
      target.gradient.push_back(gradient(x));
    }
    return target;
  }
};

class TinyModel : public EnergyModel {
 public:
  explicit TinyModel(const TinyTarget& t) : t_(t) {
    const int d = t.sites, k = t.categories;
    const auto real = torch::kFloat64;
    phi_ = torch::empty({d, k}, real);
    a_ = torch::empty({d}, real);
    w_ = torch::empty({d}, real);
    b_ = torch::zeros({d, d}, real);
    for (int i = 0; i < d; ++i) {
      a_[i] = t.a(i);
      w_[i] = t.w(i);
      for (int v = 0; v < k; ++v) phi_[i][v] = t.phi(i, v);
      for (int j = i + 1; j < d; ++j) b_[i][j] = t.b(i, j);
    }
  }

  std::string kind_name() const override { return "tiny"; }
  StateSpace space() const override {
    return {t_.categories == 2 ? StateKind::kBinary : StateKind::kCategorical, t_.sites,
            t_.categories};
  }

  torch::Tensor energy(const torch::Tensor& x) override {
    ++calls;
    const torch::Tensor v = relaxed(x).to(torch::kFloat64);
    const torch::Tensor f = t_.categories == 2 ? v : (v * phi_).sum(-1);
    const torch::Tensor quadratic = (f.matmul(b_) * f).sum(-1);
    const torch::Tensor cubic = f.select(1, 0) * f.select(1, 1) * f.select(1, t_.third());
    return f.matmul(a_) + quadratic + t_.c() * cubic + t_.e() * torch::sin(f.matmul(w_));
  }

  int64_t calls = 0;

 private:
  TinyTarget t_;
  torch::Tensor phi_, a_, w_, b_;
};

}  // namespace isinglass::reference
