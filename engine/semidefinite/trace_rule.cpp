// Implements the trace rule: the D ⪰ 0 of least trace with W + D ⪰ 0, by its low-rank dual
// (docs/concepts/samplers.md). The method is the mixing method of Wang, Chang & Kolter 2017, "The
// mixing method: low-rank coordinate descent for semidefinite programming with diagonal
// constraints", with balls in place of spheres.
//
//   min 1ᵀd, d ≥ 0, diag(d) + W ⪰ 0   is the dual of   min ⟨W, VᵀV⟩ over ‖v_i‖ ≤ 1
//
// A coordinate update computes g_i = Σ_{j≠i} W_ij v_j and sets v_i ← −g_i / max(‖g_i‖, W_ii), or 0
// if that maximum is not positive. At a fixed point d_i = max(0, ‖g_i‖ − W_ii). The rank is at
// least √(2D) + 1, at which no spurious local minimum exists.
#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/semidefinite/diagonal_rules.h"
#include "kernels/random/normal.h"

namespace isinglass {
namespace {

constexpr double kGap = 1e-4;  // relative gap at which the descent ends
constexpr int kMaxSweeps = 4000;

class LowRankDescent {
 public:
  explicit LowRankDescent(const torch::Tensor& w)
      : sites_(w.size(0)), rank_(padded_rank(sites_)), v_(sites_ * rank_), g_(rank_) {
    take_rows(w.const_data_ptr<double>());
    for (int64_t i = 0; i < sites_; ++i) set_unit(i);
  }

  // Updates every site once.
  void sweep() {
    for (int64_t i = 0; i < sites_; ++i) {
      const double norm = gather(i), bound = std::max(norm, own_[i]);
      double* v = &v_[i * rank_];
      for (int64_t k = 0; k < rank_; ++k) v[k] = bound > 0 ? -g_[k] / bound : 0.0;
    }
  }

  // Computes d at the current V, and returns ⟨W, VᵀV⟩.
  double diagonal(torch::Tensor& d) {
    double product = 0, *out = d.mutable_data_ptr<double>();
    for (int64_t i = 0; i < sites_; ++i) {
      out[i] = std::max(0.0, gather(i) - own_[i]);
      const double* v = &v_[i * rank_];
      for (int64_t k = 0; k < rank_; ++k) product += v[k] * (g_[k] + own_[i] * v[k]);
    }
    return product;
  }

 private:
  static int64_t padded_rank(int64_t sites) {
    const auto rank = static_cast<int64_t>(std::sqrt(2.0 * static_cast<double>(sites))) + 2;
    return (rank + 7) / 8 * 8;
  }

  void take_rows(const double* w) {
    first_.push_back(0);
    for (int64_t i = 0; i < sites_; ++i) {
      own_.push_back(w[i * sites_ + i]);
      for (int64_t j = 0; j < sites_; ++j) {
        if (j == i || w[i * sites_ + j] == 0) continue;
        column_.push_back(j);
        weight_.push_back(w[i * sites_ + j]);
      }
      first_.push_back(static_cast<int64_t>(column_.size()));
    }
  }

  void set_unit(int64_t i) {
    double square = 0, *v = &v_[i * rank_];
    for (int64_t k = 0; k < rank_; ++k) {
      v[k] = standard_normal({0, static_cast<uint32_t>(i), 0}, Purpose::kNoise,
                             static_cast<uint32_t>(k));
      square += v[k] * v[k];
    }
    for (int64_t k = 0; k < rank_; ++k) v[k] /= std::sqrt(square);
  }

  // Computes g_i into g_ and returns ‖g_i‖.
  double gather(int64_t i) {
    std::fill(g_.begin(), g_.end(), 0.0);
    double* g = g_.data();
    for (int64_t n = first_[i]; n < first_[i + 1]; ++n) {
      const double weight = weight_[n];
      const double* v = &v_[column_[n] * rank_];
#pragma omp simd
      for (int64_t k = 0; k < rank_; ++k) g[k] += weight * v[k];
    }
    double square = 0;
    for (const double value : g_) square += value * value;
    return std::sqrt(square);
  }

  int64_t sites_, rank_;
  // W_ii; and the W_ij ≠ 0, j ≠ i, row after row.
  std::vector<double> own_, weight_;
  // Row starts and column indices of weight_, as in the CSR format.
  std::vector<int64_t> first_, column_;
  std::vector<double> v_, g_;  // [D, rank], [rank]
};

}  // namespace

DiagonalBound trace_rule(const torch::Tensor& W) {
  LowRankDescent descent(W);
  const double norm = spectral_norm(W);
  torch::Tensor d = torch::empty({W.size(0)}, torch::kFloat64);
  DiagonalBound best;
  for (int done = 0, next = 25; done < kMaxSweeps; next *= 2) {
    for (; done < next; ++done) descent.sweep();
    const double lower = -descent.diagonal(d), sum = d.sum().item<double>();
    // Far from a fixed point the two bounds already differ by much, and a certificate is not worth
    // its cost.
    if (sum - lower > 0.1 * kGap * sum && next < kMaxSweeps) continue;
    const Certificate sure = certify(W, d, norm);
    const double value = sure.diagonal.sum().item<double>();
    if (!best.diagonal.defined() || value < best.value) {
      best = {sure.diagonal, sure.root, value, 0};
    }
    best.gap = best.value - lower;
    if (best.gap <= kGap * best.value + sure.margin * static_cast<double>(W.size(0))) break;
  }
  return best;
}

}  // namespace isinglass
