// log Z of an Ising model on a rectangular lattice by a transfer matrix, slow and on its own:
//
//   U(s) = −J Σ_{neighbours} s_a s_b, s ∈ {−1, +1}; rows of w sites, periodic or open both ways
//   Z = Tr T^h, or 1ᵀ T^{h−1} (…) 1: one row's 2^w states at a time, one bond after the other
//
// A column of weights over the states of the last row is multiplied by e^{J s s'} site by site.
// This takes w·2^w operations per row, where the dense matrix takes 4^w. With periodic boundaries
// in the second direction there is one such product for each of the 2^w first rows.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace isinglass::reference {

class TransferMatrix {
 public:
  TransferMatrix(int width, int height, double coupling, bool periodic)
      : width_(width), height_(height), coupling_(coupling), periodic_(periodic) {}

  // Open: one product. Periodic: the trace, a product for each first row.
  double log_z() const {
    const uint32_t rows = 1u << width_;
    if (!periodic_) {
      std::vector<double> weight(rows);
      double log_scale = 0;
      for (uint32_t s = 0; s < rows; ++s) weight[s] = std::exp(within(s));
      for (int r = 1; r < height_; ++r) advance(weight, log_scale);
      double sum = 0;
      for (const double w : weight) sum += w;
      return std::log(sum) + log_scale;
    }
    double largest = -INFINITY;
    std::vector<double> terms;
    for (uint32_t first = 0; first < rows; ++first) {
      std::vector<double> weight(rows, 0.0);
      double log_scale = 0;
      weight[first] = 1;
      for (int r = 0; r < height_; ++r) advance(weight, log_scale);
      terms.push_back(std::log(weight[first]) + log_scale);
      largest = std::fmax(largest, terms.back());
    }
    double sum = 0;
    for (const double t : terms) sum += std::exp(t - largest);
    return largest + std::log(sum);
  }

 private:
  int spin(uint32_t row, int i) const { return (row >> i & 1) ? 1 : -1; }

  double within(uint32_t row) const {
    double sum = 0;
    for (int i = 0; i + 1 < width_; ++i) sum += spin(row, i) * spin(row, i + 1);
    if (periodic_) sum += spin(row, width_ - 1) * spin(row, 0);
    return coupling_ * sum;
  }

  // weight(s') = e^{within(s')} Σ_s Π_i e^{J s_i s'_i} weight(s)
  void advance(std::vector<double>& weight, double& log_scale) const {
    const double alike = std::exp(coupling_), unlike = std::exp(-coupling_);
    for (int i = 0; i < width_; ++i) {
      for (uint32_t s = 0; s < weight.size(); ++s) {
        if (s >> i & 1) continue;
        const double down = weight[s], up = weight[s | 1u << i];
        weight[s] = alike * down + unlike * up;
        weight[s | 1u << i] = unlike * down + alike * up;
      }
    }
    double largest = 0;
    for (uint32_t s = 0; s < weight.size(); ++s) {
      weight[s] *= std::exp(within(s));
      largest = std::fmax(largest, weight[s]);
    }
    for (double& w : weight) w /= largest;
    log_scale += std::log(largest);
  }

  int width_, height_;
  double coupling_;
  bool periodic_;
};

}  // namespace isinglass::reference
