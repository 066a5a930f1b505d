// The D ⪰ 0 of least λ_max(W + D) with W + D ⪰ 0 by the alternating direction method of multipliers
// (Boyd et al. 2011; samplers.md §2.5), over-relaxed: D up to about a thousand, each iteration is a
// whole eigendecomposition.
//
//   min f(M) + κ·tr D + [d ≥ 0],  M = W + D,  f = λ_max on M ⪰ 0;  κ = 2e-4/D prefers small traces
//   M ← prox of f at W + D − U: its eigenvalues clipped to [0, t], Σ (λ − t)₊ = 1/ρ
//   d ← max(0, diag(M̂ + U − W) − κ/ρ),  U ← U + M̂ − W − D,  M̂ = 1.7 M − 0.7 (W + D)
//
// G = ρ(W + D − U − M) = Y − X, tr Y = 1, is a subgradient of f. Scaled to diag X ≤ diag Y, ⟨Y − X,
// W⟩ is a lower bound of λ_max(W + D) for every such D.
#include <algorithm>
#include <limits>

#include "engine/diagonal_rules.h"

namespace isinglass {
namespace {

constexpr double kTraceWeight = 2e-4, kRelaxation = 1.7;
constexpr double kGap = 2e-4;  // relative, at which the iterations end
constexpr int kMaxIterations = 600, kCheckEvery = 10;

// t with Σ (λ − t)₊ = mass, at least 0; λ ascending.
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
  explicit Alternation(const torch::Tensor& w) : w_(w), u_(torch::zeros_like(w)) {
    const Spectrum own = lanczos_spectrum(w);
    // W = c·I needs no search; any ρ serves.
    const double spread = own.most - own.least;
    rho_ = spread > 0 ? 0.5 / spread : 1;
    d_ = torch::full({w.size(0)}, std::max(0.0, -own.least), w.options());
  }

  void iterate() {
    const torch::Tensor m_before = w_ + torch::diag(d_);
    std::tie(eigenvalues_, vectors_) = torch::linalg_eigh(m_before - u_);
    clipped_ = eigenvalues_.clamp(0, clip_level(eigenvalues_, 1 / rho_));
    const torch::Tensor m =
        kRelaxation * (vectors_ * clipped_).mm(vectors_.t()) + (1 - kRelaxation) * m_before;
    const double kappa = kTraceWeight / static_cast<double>(w_.size(0));
    d_ = ((m + u_ - w_).diagonal() - kappa / rho_).clamp_min(0);
    u_ += m - w_ - torch::diag(d_);
  }

  // Of λ_max(W + D), from the last iteration's subgradient.
  double lower_bound() const {
    const torch::Tensor g = rho_ * (eigenvalues_ - clipped_);
    const torch::Tensor y = (vectors_ * g.clamp_min(0)).mm(vectors_.t());
    const torch::Tensor x = (vectors_ * (-g).clamp_min(0)).mm(vectors_.t());
    const torch::Tensor scale = (y.diagonal() / x.diagonal().clamp_min(1e-300)).clamp(0, 1).sqrt();
    return ((y - x * scale.unsqueeze(0) * scale.unsqueeze(1)) * w_).sum().item<double>();
  }

  const torch::Tensor& diagonal() const { return d_; }

 private:
  torch::Tensor w_, u_, d_;
  torch::Tensor eigenvalues_, vectors_, clipped_;
  double rho_;
};

}  // namespace

DiagonalBound max_rule(const torch::Tensor& W) {
  Alternation alternation(W);
  DiagonalBound best;
  double lower = -std::numeric_limits<double>::infinity();
  for (int done = 1; done <= kMaxIterations; ++done) {
    alternation.iterate();
    if (done % kCheckEvery != 0) continue;
    lower = std::max(lower, alternation.lower_bound());
    const Certificate sure = certify(W, alternation.diagonal());
    const torch::Tensor sum = W + torch::diag(sure.diagonal);
    const double value = torch::linalg_eigvalsh(sum).max().item<double>();
    if (!best.diagonal.defined() || value < best.value) {
      best = {sure.diagonal, sure.root, value, 0};
    }
    best.gap = best.value - lower;
    if (best.gap <= kGap * best.value + sure.margin) break;
  }
  return best;
}

}  // namespace isinglass
