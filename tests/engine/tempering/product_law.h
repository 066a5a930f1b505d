// The product of the laws of independent rungs over few states: draws from it, and the deviation of
// indices of states from it.
#pragma once

#include <cmath>
#include <vector>

#include "io/torch.h"

namespace isinglass {

class ProductLaw {
 public:
  // One law a rung, float64 [n].
  explicit ProductLaw(std::vector<torch::Tensor> laws) : laws_(std::move(laws)) {}

  // Independent draws on every rung, as indices of states, int64 [C, R].
  torch::Tensor draw(int64_t ensembles) const {
    auto generator = torch::make_generator<at::CPUGeneratorImpl>(7);
    std::vector<torch::Tensor> rungs;
    for (const torch::Tensor& law : laws_) {
      rungs.push_back(torch::multinomial(law, ensembles, true, generator));
    }
    return torch::stack(rungs, 1);
  }

  // Returns χ² of states [C, R] against the product, minus its mean, in standard deviations. If
  // there are too many joint states, it is the largest value over neighbouring pairs of rungs.
  double deviation(const torch::Tensor& index) const {
    const int64_t rungs = index.size(1);
    if (laws_.front().numel() <= 4) return deviation(index, 0, rungs);
    double worst = 0;
    for (int64_t i = 0; i + 1 < rungs; ++i) {
      const double pair = deviation(index, i, 2);
      if (std::abs(pair) > std::abs(worst)) worst = pair;
    }
    return worst;
  }

 private:
  // Returns the deviation of so many rungs from the first one on. States whose expected count is
  // below 5 count as one.
  double deviation(const torch::Tensor& index, int64_t first, int64_t rungs) const {
    const int64_t n = laws_.front().numel();
    torch::Tensor joint = torch::zeros({index.size(0)}, torch::kInt64);
    torch::Tensor p = torch::ones({1}, torch::kFloat64);
    for (int64_t i = first; i < first + rungs; ++i) {
      joint = joint * n + index.select(1, i);
      p = (p.view({-1, 1}) * laws_[i].view({1, -1})).reshape(-1);
    }
    torch::Tensor expected = p * static_cast<double>(index.size(0));
    torch::Tensor count = torch::bincount(joint, {}, p.numel()).to(torch::kFloat64);
    const torch::Tensor rare = expected < 5;
    const auto lumped = [&](const torch::Tensor& t) {
      return torch::cat({t.masked_select(~rare), t.masked_select(rare).sum().view(1)});
    };
    expected = lumped(expected);
    count = lumped(count);
    const double freedom = static_cast<double>(expected.numel() - 1);
    const torch::Tensor terms = (count - expected).square() / expected.clamp_min(1e-300);
    return (terms.sum().item<double>() - freedom) / std::sqrt(2 * freedom);
  }

  std::vector<torch::Tensor> laws_;
};

}  // namespace isinglass
