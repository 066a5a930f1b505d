// Implements the search for σ and α.
#include "engine/adaptation/jump_search.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "kernels/base/balancing.h"

namespace isinglass {
namespace {

constexpr int kArms = 5;  // (u, v), u + h, u − h, v + h, v − h
constexpr double kClear = 3, kLoss = 0.12;
constexpr double kCoarsest = 0.12, kFinest = 0.02;
constexpr double kLeastSpacing = 0.25, kMostSpacing = 2;
// Bounds of u and v. At u = −40 nothing flips (e^−40); at the largest u, σ = 6e5 makes 256 values
// as flat as σ = ∞ would. The range of v reaches from α = 1/2 to α = 1 at each of them.
constexpr double kLeastU = -40, kMostU = 14, kMostV = 60;

// Replaces std::hypot, which needs a newer C library than the oldest systems have that
// scripts/bundle.sh supports.
double root_of_squares(std::initializer_list<double> values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

std::array<double, 2> within(const std::array<double, 2>& point) {
  return {std::clamp(point[0], kLeastU, kMostU), std::clamp(point[1], -kMostV, kMostV)};
}

}  // namespace

// The mean jump and its standard error at each of the five points.
struct JumpSearch::Arms {
  std::array<double, kArms> mean, error;
  double acceptance = 0;  // mean over all points

  Arms(const torch::Tensor& sums, int64_t passes) {
    const torch::Tensor host = sums.to(torch::kCPU).contiguous();
    const double* sum = host.const_data_ptr<double>();
    const auto n = static_cast<double>(passes);
    for (int i = 0; i < kArms; ++i) {
      mean[i] = sum[i] / n;
      const double variance = std::max(0.0, sum[kArms + i] / n - mean[i] * mean[i]);
      error[i] = std::sqrt(variance / (n - 1));
      acceptance += sum[2 * kArms + i] / (n * kArms);
    }
  }

  double longest() const { return *std::max_element(mean.begin(), mean.end()); }

  bool decided(double precision) const {
    bool precise = true;
    for (int i = 0; i < kArms; ++i) {
      if (mean[i] - mean[0] > kClear * root_of_squares({error[i], error[0]})) return true;
      precise = precise && error[i] <= precision * longest();
    }
    return precise;
  }
};

JumpSearch::JumpSearch(Values start) : start_(start), precision_(kCoarsest) {
  const double t = std::exp(-0.5 / start[0]);
  const double u = std::log(t) - std::log1p(-t);
  const double odds = (2 * start[1] - 1) / (2 - 2 * start[1]);  // e^(u + v)
  const double v = odds > 0 ? std::log(odds) - u : 0;
  middle_ = within({u, v});
}

JumpSearch::Values JumpSearch::values_of(const Point& point) {
  return {0.5 / softplus(-point[0]), 0.5 * (1 + elementary::sigmoid(point[0] + point[1]))};
}

JumpSearch::Point JumpSearch::arm(int number) const {
  Point point = middle_;
  if (number == 0) return point;
  const int axis = (number - 1) / 2;
  point[axis] += number % 2 == 1 ? spacing_[axis] : -spacing_[axis];
  return within(point);
}

JumpSearch::Values JumpSearch::trial() const {
  return values_of(arm(static_cast<int>(steps_ % kArms)));
}

JumpSearch::Values JumpSearch::best() const {
  return rounds_ == 0 ? start_ : values_of(middle_);
}

void JumpSearch::record(const torch::Tensor& jump, const torch::Tensor& acceptance) {
  if (!sums_.defined()) sums_ = torch::zeros({3, kArms}, jump.options());
  const int64_t arm = steps_ % kArms;
  sums_.select(0, 0).select(0, arm).add_(jump);
  sums_.select(0, 1).select(0, arm).addcmul_(jump, jump);
  sums_.select(0, 2).select(0, arm).add_(acceptance);
  if (++steps_ % kSteps == 0) compare();
}

void JumpSearch::compare() {
  const Arms arms(sums_, steps_ / kArms);
  if (!arms.decided(precision_)) return;
  move(arms);
  ++rounds_;
  steps_ = 0;
  sums_.zero_();
}

void JumpSearch::move(const Arms& arms) {
  const double here = arms.mean[0];
  converged_ = false;
  if (arms.longest() == 0) {
    middle_[0] += arms.acceptance > 0.5 ? spacing_[0] : -spacing_[0];
    middle_ = within(middle_);
    return;
  }
  converged_ = true;
  for (int axis = 0; axis < 2; ++axis) {
    const int up = 1 + 2 * axis, down = up + 1;
    const double bend = 2 * here - arms.mean[up] - arms.mean[down];
    const double noise = root_of_squares({2 * arms.error[0], arms.error[up], arms.error[down]});
    const double vertex =
        0.5 * (arms.mean[up] - arms.mean[down]) / std::max({bend, noise, 1e-9 * arms.longest()});
    double& h = spacing_[axis];
    middle_[axis] += h * std::clamp(vertex, -1.0, 1.0);
    converged_ = converged_ && std::abs(vertex) < 1;
    const double factor = bend > 0 ? std::sqrt(2 * kLoss * here / bend) : 2;
    h = std::clamp(h * std::clamp(factor, 0.5, 2.0), kLeastSpacing, kMostSpacing);
  }
  middle_ = within(middle_);
  precision_ = converged_ ? std::max(kFinest, 0.8 * precision_) : kCoarsest;
}

}  // namespace isinglass
