// Targets of two continuous sites whose moments are known, exact draws from them, and the check
// that a sampler keeps them: from exact draws, long-run means of moments and mode weights within
// standard errors.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "engine/diagnostics/ess.h"
#include "engine/run/run.h"
#include "engine/samplers/hamiltonian.h"
#include "models/density/gaussian.h"
#include "models/density/gaussian_mixture.h"

namespace isinglass {

// A mixture of two correlated normal distributions of two sites, or one of them alone.
struct PlaneTarget {
  std::vector<double> weights;
  torch::Tensor means, covariance;  // float64 [C, 2], [C, 2, 2]

  torch::Tensor precision() const { return at::linalg_inv(covariance); }

  std::shared_ptr<EnergyModel> model() const {
    if (weights.size() == 1) return std::make_shared<GaussianModel>(means[0], precision()[0]);
    return std::make_shared<GaussianMixtureModel>(torch::tensor(weights, torch::kFloat64), means,
                                                  precision());
  }

  // float32 [count, 2]
  torch::Tensor draw(int64_t count) const {
    const torch::Tensor component =
        torch::multinomial(torch::tensor(weights, torch::kFloat64), count, /*replacement=*/true);
    const torch::Tensor root = at::linalg_cholesky(covariance).index_select(0, component);
    const torch::Tensor noise = torch::randn({count, 2, 1}, torch::kFloat64);
    return (means.index_select(0, component) + root.matmul(noise).squeeze(2)).to(torch::kFloat32);
  }

  // x_0, x_1, x_0², x_0 x_1, x_1² and the probability of the first component: [B, 6].
  torch::Tensor statistics(const torch::Tensor& states) const {
    const torch::Tensor x = states.to(torch::kFloat64);
    const torch::Tensor a = x.select(1, 0), b = x.select(1, 1);
    std::vector<torch::Tensor> log_density;
    for (size_t c = 0; c < weights.size(); ++c) {
      const auto index = static_cast<int64_t>(c);
      const torch::Tensor d = x - means[index];
      log_density.push_back(std::log(weights[c]) - 0.5 * at::logdet(covariance[index]) -
                            0.5 * (d.matmul(precision()[index]) * d).sum(1));
    }
    return torch::stack(
        {a, b, a * a, a * b, b * b, torch::stack(log_density, 1).softmax(1).select(1, 0)}, 1);
  }

  torch::Tensor expectation() const {  // expected values of the statistics
    torch::Tensor mean = torch::zeros({2}, torch::kFloat64);
    torch::Tensor second = torch::zeros({2, 2}, torch::kFloat64);
    for (size_t c = 0; c < weights.size(); ++c) {
      const auto index = static_cast<int64_t>(c);
      mean += weights[c] * means[index];
      second += weights[c] * (covariance[index] + at::outer(means[index], means[index]));
    }
    return torch::stack({mean[0], mean[1], second[0][0], second[0][1], second[1][1],
                         torch::tensor(weights[0], torch::kFloat64)});
  }
};

inline PlaneTarget correlated_gaussian() {
  return {{1.0},
          torch::tensor({1.0, -0.5}, torch::kFloat64).view({1, 2}),
          torch::tensor({1.0, 0.8, 0.8, 1.5}, torch::kFloat64).view({1, 2, 2})};
}

inline PlaneTarget unequal_mixture() {
  return {
      {0.7, 0.3},
      torch::tensor({-1.0, 0.2, 1.3, -0.4}, torch::kFloat64).view({2, 2}),
      torch::tensor({0.5, 0.2, 0.2, 0.4, 0.3, -0.1, -0.1, 0.6}, torch::kFloat64).view({2, 2, 2})};
}

// The largest deviation of a statistic's long-run mean, in standard errors, and the mean
// acceptance.
struct Deviation {
  double worst = 0, acceptance = 0;
};

// Returns |mean − expected| in standard errors, for one statistic's series [steps, chains] of
// independent chains. The variance of a chain's mean is the series' variance divided by its
// effective sample size, or the variance of the chains' means if that is larger, because chains
// that hardly move have no ESS.
inline double standard_errors(const torch::Tensor& series, double expected) {
  const double by_ess = (series.var(0) / tfp_ess(series)).nanmean().item<double>();
  const double by_spread = series.mean(0).var().item<double>();
  const double variance = std::max(by_ess, by_spread) / static_cast<double>(series.size(1));
  return std::abs(series.mean().item<double>() - expected) / std::sqrt(variance);
}

// Chains start at exact draws and move in groups of `group`. The groups are independent of each
// other; the first members of all groups have π as their law, the second members, and so on.
inline Deviation deviation_of(const Sampler& sampler, const PlaneTarget& target, int64_t group,
                              int64_t steps) {
  constexpr int64_t kChains = 384;
  torch::manual_seed(20);
  const auto model = target.model();
  const torch::Tensor ids = torch::arange(kChains);
  ChainState state = sampler.init(*model, target.draw(kChains), ids);
  StepParams params = sampler.params(31, torch::kCPU);
  std::vector<torch::Tensor> series;
  for (int64_t t = 0; t < steps; ++t) {
    sampler.step(*model, state, params);
    series.push_back(target.statistics(state.x).view({kChains / group, group, -1}));
  }
  const torch::Tensor all = torch::stack(series);  // [steps, groups, members, statistics]
  const torch::Tensor expected = target.expectation();
  const int64_t statistics = target.weights.size() > 1 ? 6 : 5;
  Deviation result;
  for (int64_t member = 0; member < group; ++member) {
    for (int64_t s = 0; s < statistics; ++s) {
      const torch::Tensor own = all.select(3, s).select(2, member).contiguous();
      result.worst = std::max(result.worst, standard_errors(own, expected[s].item<double>()));
    }
  }
  result.acceptance =
      state.statistics.acceptance_sum.mean().item<double>() / static_cast<double>(steps);
  return result;
}

}  // namespace isinglass
