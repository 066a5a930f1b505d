// Implements the maximum mean discrepancy.
#include "engine/diagnostics/mmd.h"

#include <algorithm>
#include <cmath>

#include "io/error.h"

namespace isinglass {
namespace {

constexpr int64_t kComparisons = 1 << 24;  // sites compared at once

// Returns K̄ of all pairs of groups, float64 [G, H].
torch::Tensor kernel_means(const torch::Tensor& x, const torch::Tensor& y) {
  const int64_t groups = y.size(0), draws = y.size(1), sites = y.size(2);
  const torch::Tensor rows = y.reshape({-1, sites});
  const int64_t block = std::max<int64_t>(1, kComparisons / rows.numel());
  torch::Tensor sums = torch::zeros({x.size(0), groups}, torch::kFloat64);
  for (int64_t g = 0; g < x.size(0); ++g) {
    for (int64_t first = 0; first < x.size(1); first += block) {
      const torch::Tensor part = x[g].slice(0, first, first + block).unsqueeze(1);
      const torch::Tensor distance = (part != rows).sum(2).to(torch::kFloat64);
      sums[g] += (distance / static_cast<double>(-sites))
                     .exp()
                     .view({-1, groups, draws})
                     .sum(at::IntArrayRef{0, 2})
                     .cpu();
    }
  }
  return sums / static_cast<double>(x.size(1) * draws);
}

// The mean over pairs of different groups, and the same mean with each group left out.
struct Within {
  double mean;
  torch::Tensor without;  // float64 [G]
};

Within within(const torch::Tensor& k) {
  const double groups = static_cast<double>(k.size(0));
  const torch::Tensor others = k.sum(1) - k.diagonal();
  const double sum = others.sum().item<double>();
  return {sum / (groups * (groups - 1)), (sum - 2 * others) / ((groups - 1) * (groups - 2))};
}

double jackknife_variance(const torch::Tensor& without) {
  const double groups = static_cast<double>(without.size(0));
  return (groups - 1) / groups * (without - without.mean()).square().sum().item<double>();
}

}  // namespace

Mmd hamming_mmd(const torch::Tensor& x, const torch::Tensor& y) {
  require(x.dim() == 3 && y.dim() == 3 && x.size(2) == y.size(2) && x.numel() > 0 && y.numel() > 0,
          "two samples [groups, draws, sites] with equally many sites are needed");
  const torch::Tensor xx = kernel_means(x, x), yy = kernel_means(y, y), xy = kernel_means(x, y);
  const Within left = within(xx), right = within(yy);
  const double cross = xy.mean().item<double>();
  const double g = static_cast<double>(x.size(0)), h = static_cast<double>(y.size(0));
  const torch::Tensor cross_without_x = (g * cross - xy.mean(1)) / (g - 1);
  const torch::Tensor cross_without_y = (h * cross - xy.mean(0)) / (h - 1);
  const double variance = jackknife_variance(left.without - 2 * cross_without_x) +
                          jackknife_variance(right.without - 2 * cross_without_y);
  const auto if_more_than = [&](int64_t groups, double value) {
    return std::min(x.size(0), y.size(0)) > groups ? value : NAN;
  };
  return {if_more_than(1, left.mean + right.mean - 2 * cross), if_more_than(2, std::sqrt(variance)),
          xx.mean().item<double>() + yy.mean().item<double>() - 2 * cross};
}

}  // namespace isinglass
