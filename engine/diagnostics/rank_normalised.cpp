// Implements the diagnostics of rank-normalised values.
#include "engine/diagnostics/rank_normalised.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/diagnostics/autocorrelation.h"

namespace isinglass {
namespace {

constexpr int64_t kLeastDraws = 4;
// Halves of fewer than five draws have no second pair of Geyer's sequence, so that τ would be 0 and
// the ESS the limit M·n·log₁₀(M·n), whatever the draws are.
constexpr int64_t kLeastDrawsForEss = 10;

// Returns true if the series is too short, not finite, or has the same value everywhere.
bool undefined(const torch::Tensor& series) {
  return series.size(0) < kLeastDraws || undefined_chains(series.reshape({-1, 1})).item<bool>();
}

torch::Tensor halves(const torch::Tensor& series) {  // [N/2, 2B]
  const int64_t n = series.size(0), half = n / 2;
  return torch::cat({series.slice(0, 0, half), series.slice(0, n - half, n)}, 1);
}

torch::Tensor rank_normalised(const torch::Tensor& x) {
  const auto [sorted, order] = x.flatten().sort();
  const auto [values, group, count] = torch::unique_consecutive(sorted, true, true);
  const torch::Tensor last = count.cumsum(0).to(torch::kFloat64);  // rank of a group's last value
  const torch::Tensor mean_rank = last - (count - 1).to(torch::kFloat64) / 2;
  const torch::Tensor rank =
      torch::empty_like(last.index_select(0, group)).index_put_({order}, mean_rank.index({group}));
  const double total = static_cast<double>(x.numel());
  return torch::special_ndtri((rank - 3.0 / 8) / (total + 1.0 / 4)).view(x.sizes());
}

// Returns the quantile with linear interpolation between order statistics (type 7 of R).
double quantile_of_sorted(const torch::Tensor& sorted, double probability) {
  const double at = probability * static_cast<double>(sorted.numel() - 1);
  const int64_t below = static_cast<int64_t>(at);
  const int64_t above = std::min(below + 1, sorted.numel() - 1);
  const double low = sorted[below].item<double>(), high = sorted[above].item<double>();
  return low + (at - static_cast<double>(below)) * (high - low);
}

// The mean within-chain variance W, and the total variance V, which also has the variance between
// chains.
struct Variances {
  double within, total;
};

Variances variances(const torch::Tensor& x) {
  const double n = static_cast<double>(x.size(0)), within = x.var(0).mean().item<double>();
  const double between = x.size(1) > 1 ? x.mean(0).var().item<double>() : 0;
  return {within, (n - 1) / n * within + between};
}

// Returns τ from Geyer's sequence: sums of neighbouring pairs (ρ_0 + ρ_1), (ρ_2 + ρ_3), …, as long
// as they are positive, and none larger than the one before; then the even lag that follows, if it
// is positive or if the pair that it begins is, with which the lags of short series end.
double integrated_time(const std::vector<double>& rho) {
  const auto n = static_cast<int64_t>(rho.size());
  double sum = 0, least = rho[0] + rho[1], pair = least, even = rho[0];
  int64_t t = 1;  // the last lag of the pair
  for (; t < n - 3 && pair > 0; t += 2) {
    sum += least;
    even = rho[t + 1];
    pair = rho[t + 1] + rho[t + 2];
    least = std::min(least, pair);
  }
  return -1 + 2 * sum + (pair < 0 ? std::max(0.0, even) : even);
}

double ess_of(const torch::Tensor& x) {
  const auto [within, total] = variances(x);
  const double size = static_cast<double>(x.numel());
  const torch::Tensor covariance = lagged_products(x).mean(1) / static_cast<double>(x.size(0));
  const torch::Tensor rho = (1 - (within - covariance) / total).contiguous();
  std::vector<double> lags(rho.data_ptr<double>(), rho.data_ptr<double>() + rho.numel());
  lags[0] = 1;
  return size / std::max(integrated_time(lags), 1 / std::log10(size));
}

// Returns R̂; infinite if no half chain varies and they differ, where the variances are 0 except
// for rounding.
double rhat_of(const torch::Tensor& x) {
  if ((x == x[0]).all().item<bool>()) {
    return (x == x[0][0]).all().item<bool>() ? NAN : INFINITY;
  }
  const auto [within, total] = variances(x);
  return std::sqrt(total / within);
}

torch::Tensor merged(const torch::Tensor& series, double rounding) {
  return merge_ties(series, tie_width(series, rounding));
}

}  // namespace

double bulk_ess(const torch::Tensor& series, double rounding) {
  const torch::Tensor x = merged(series, rounding);
  if (undefined(x) || x.size(0) < kLeastDrawsForEss) return NAN;
  return ess_of(rank_normalised(halves(x)));
}

double tail_ess(const torch::Tensor& series, double rounding) {
  const torch::Tensor x = merged(series, rounding);
  if (undefined(x) || x.size(0) < kLeastDrawsForEss) return NAN;
  const torch::Tensor sorted = std::get<0>(x.flatten().sort());
  double least = INFINITY;
  for (const double probability : {0.05, 0.95}) {
    const torch::Tensor below =
        halves((x <= quantile_of_sorted(sorted, probability)).to(torch::kFloat64));
    if (undefined(below)) return NAN;
    least = std::min(least, ess_of(below));
  }
  return least;
}

double rank_rhat(const torch::Tensor& series, double rounding) {
  if (series.size(1) < 2) return NAN;
  const TieWidth width = tie_width(series, rounding);
  const torch::Tensor all = merge_ties(series, width);
  if (undefined(all)) return NAN;
  const torch::Tensor x = halves(all), sorted = std::get<0>(x.flatten().sort());
  const torch::Tensor distance = (x - quantile_of_sorted(sorted, 0.5)).abs();
  // If values do not repeat, only the two middle ones are equally far from the median.
  const bool repeat = sorted.diff().eq(0).any().item<bool>();
  const double bulk = rhat_of(rank_normalised(x));
  const double folded = rhat_of(rank_normalised(repeat ? merge_ties(distance, width) : distance));
  return std::isnan(folded) ? bulk : std::max(bulk, folded);
}

double ess_of_groups(double (*ess)(const torch::Tensor&, double), const torch::Tensor& series,
                     int64_t group, double rounding) {
  double sum = NAN;
  for (const torch::Tensor& chains : series.split(group, 1)) {
    const double own = ess(chains, rounding);
    if (!std::isnan(own)) sum = std::isnan(sum) ? own : sum + own;
  }
  return sum;
}

double rhat_of_groups(const torch::Tensor& series, int64_t group, double rounding) {
  double largest = NAN;
  for (const torch::Tensor& chains : series.split(group, 1)) {
    largest = std::fmax(largest, rank_rhat(chains, rounding));
  }
  return largest;
}

double agreement_rhat(const torch::Tensor& series, double rounding) {
  const torch::Tensor x = merged(series, rounding);
  const bool enough = x.size(0) >= kLeastDraws && x.size(1) >= 2;
  if (enough && std::isfinite(x[0][0].item<double>()) && (x == x[0][0]).all().item<bool>()) {
    return 1;
  }
  return rank_rhat(x, rounding);
}

}  // namespace isinglass
