// Implements the max rule: the D ⪰ 0 of least λ_max(W + D) subject to W + D ⪰ 0, and among those,
// to 1e-3, of least trace. The method is the over-relaxed alternating direction method of
// multipliers (Boyd et al. 2011; docs/concepts/samplers.md). It serves up to about a thousand
// sites, because an iteration takes a full eigendecomposition.
//
//   min f(M) + κ·tr D,  M = W + D,  D ⪰ 0
//   M ← prox of f at W + D − U: its eigenvalues clipped to [0, t]
//   d ← max(0, diag(M̂ + U − W) − κ/ρ),  U ← U + M̂ − W − D,  M̂ = 1.7 M − 0.7 (W + D)
//
// The first search has f = λ_max on M ⪰ 0 and κ = 0; there t solves Σ (λ − t)₊ = 1/ρ. The second
// search has t = (1 + 5e-4) times the value found, f = 0 on 0 ⪯ M ⪯ tI, and κ = 1/D.
//
// G = ρ(W + D − U − M) is a subgradient of f. Let G = Y − X with its positive part Y ⪰ 0 and its
// negative part X ⪰ 0. Once X is scaled so that diag X ≤ diag Y + κ, ⟨Y − X, W⟩ is a lower bound of
// the optimum; in the second search t·tr Y is subtracted from it.
#include <algorithm>
#include <limits>
#include <optional>

#include "engine/semidefinite/diagonal_rules.h"

namespace isinglass {
namespace {

constexpr double kRelaxation = 1.7;
// The relative gaps at which the first and the second search end.
constexpr double kMaxGap = 2e-4, kTraceGap = 5e-4;
// The relative increase of λ_max that the second search aims at, and the largest that it accepts.
constexpr double kLevel = 5e-4, kMostLevel = 9e-4;
constexpr int kMaxIterations = 500, kCheckEvery = 10;

// Returns the t ≥ 0 with Σ (λ − t)₊ = mass, for ascending λ.
double clip_level(const torch::Tensor& eigenvalues, double mass) {
  const double* value = eigenvalues.const_data_ptr<double>();
  double sum = 0, level = 0;
  for (int64_t n = eigenvalues.size(0), i = n; i-- > 0;) {
    sum += value[i];
    level = (sum - mass) / static_cast<double>(n - i);
    if (i == 0 || value[i - 1] <= level) break;
  }
  return std::max(0.0, level);
}

class Alternation {
 public:
  // level: t of the second search; without it, this is the first search.
  Alternation(const torch::Tensor& w, const torch::Tensor& start, std::optional<double> level)
      : w_(w), u_(torch::zeros_like(w)), d_(start), level_(level) {
    const Spectrum own = lanczos_spectrum(w);
    const double spread = own.most - own.least;
    rho_ = spread > 0 ? 0.5 / spread : 1;  // if W = c·I, any ρ works
    if (level) kappa_ = 1 / static_cast<double>(w.size(0));
  }

  void iterate() {
    const torch::Tensor before = w_ + torch::diag(d_);
    std::tie(eigenvalues_, vectors_) = torch::linalg_eigh(before - u_);
    clipped_ = eigenvalues_.clamp(0, level_ ? *level_ : clip_level(eigenvalues_, 1 / rho_));
    const torch::Tensor m =
        kRelaxation * (vectors_ * clipped_).mm(vectors_.t()) + (1 - kRelaxation) * before;
    d_ = ((m + u_ - w_).diagonal() - kappa_ / rho_).clamp_min(0);
    u_ += m - w_ - torch::diag(d_);
  }

  // Returns a lower bound of the objective, which is λ_max(W + D) in the first search and the mean
  // of d in the second.
  double lower_bound() const {
    const torch::Tensor g = rho_ * (eigenvalues_ - clipped_);
    const torch::Tensor y = (vectors_ * g.clamp_min(0)).mm(vectors_.t());
    const torch::Tensor x = (vectors_ * (-g).clamp_min(0)).mm(vectors_.t());
    const torch::Tensor scale =
        ((y.diagonal() + kappa_) / x.diagonal().clamp_min(1e-300)).clamp(0, 1).sqrt();
    const torch::Tensor fitting = y - x * scale.unsqueeze(0) * scale.unsqueeze(1);
    return ((fitting * w_).sum() - level_.value_or(0) * y.trace()).item<double>();
  }

  const torch::Tensor& diagonal() const { return d_; }

 private:
  torch::Tensor w_, u_, d_;
  std::optional<double> level_;
  torch::Tensor eigenvalues_, vectors_, clipped_;
  double rho_, kappa_ = 0;
};

double largest_eigenvalue(const torch::Tensor& w, const torch::Tensor& d) {
  return torch::linalg_eigvalsh(w + torch::diag(d)).max().item<double>();
}

// Finds the least λ_max(W + D), starting from the D of least trace.
DiagonalBound least_maximum(const torch::Tensor& w) {
  DiagonalBound best = trace_rule(w);
  const double norm = spectral_norm(w);
  best.value = largest_eigenvalue(w, best.diagonal);
  Alternation search(w, best.diagonal, {});
  double lower = -std::numeric_limits<double>::infinity();
  for (int done = 1; done <= kMaxIterations; ++done) {
    search.iterate();
    if (done % kCheckEvery != 0) continue;
    lower = std::max(lower, search.lower_bound());
    const Certificate sure = certify(w, search.diagonal(), norm);
    const double value = largest_eigenvalue(w, sure.diagonal);
    if (value < best.value) best = {sure.diagonal, sure.root, value, 0};
    best.gap = best.value - lower;
    if (best.gap <= kMaxGap * best.value + sure.margin) break;
  }
  return best;
}

}  // namespace

DiagonalBound max_rule(const torch::Tensor& W) {
  DiagonalBound best = least_maximum(W);
  const double norm = spectral_norm(W);
  const double most = (1 + kMostLevel) * best.value, found = best.value - best.gap;
  Alternation search(W, best.diagonal, (1 + kLevel) * best.value);
  double lower = 0;
  for (int done = 1; done <= kMaxIterations; ++done) {
    search.iterate();
    if (done % kCheckEvery != 0) continue;
    lower = std::max(lower, search.lower_bound());
    const Certificate sure = certify(W, search.diagonal(), norm);
    const double value = largest_eigenvalue(W, sure.diagonal);
    const double mean = sure.diagonal.mean().item<double>();
    if (value <= most && mean < best.diagonal.mean().item<double>()) {
      best = {sure.diagonal, sure.root, value, value - found};
    }
    const double gap = best.diagonal.mean().item<double>() - lower;
    if (gap <= kTraceGap * mean + sure.margin) break;
  }
  return best;
}

}  // namespace isinglass
