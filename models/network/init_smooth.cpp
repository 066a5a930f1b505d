// Implements the initial values by the parameters' names.
#include "models/network/init_smooth.h"

#include <cmath>
#include <numbers>
#include <string_view>

namespace isinglass {
namespace {

constexpr double kEmbedded = 0.2;  // a
constexpr double kGain = 1.68;     // g
// With this r, networks of 8 … 64 channels keep their magnitude over eight blocks
constexpr double kResidual = 0.35;
constexpr double kBias = 0.4;  // b

torch::Tensor cosines(int64_t channels, int64_t levels) {
  const auto f64 = torch::TensorOptions(torch::kFloat64);
  const torch::Tensor p = torch::arange(1, channels + 1, f64).unsqueeze(1);
  const torch::Tensor v = (torch::arange(levels, f64) + 0.5) / static_cast<double>(levels);
  const torch::Tensor rows = torch::cos(std::numbers::pi * p * v) / p.sqrt();
  return rows * (kEmbedded * torch::rsqrt(p.reciprocal().mean() / 2));
}

double inputs(const torch::Tensor& weight) {
  return static_cast<double>(weight[0].numel());
}

}  // namespace

void init_smooth(torch::OrderedDict<std::string, torch::Tensor> parameters, int64_t positions,
                 const torch::Tensor& base) {
  const torch::NoGradGuard no_grad;
  for (auto& entry : parameters) {
    const std::string_view name = entry.key();
    torch::Tensor& value = entry.value();
    const bool weight = name.ends_with(".weight");
    if (name == "proj.weight") {
      value.copy_(cosines(value.size(0), value.size(1)).view_as(value));
    } else if (name == "proj.bias") {
      value.zero_();
    } else if (name.starts_with("proj2.")) {
      value.normal_(0, weight ? 1 / std::sqrt(inputs(value)) : 1.0);
    } else if (name.starts_with("energy_linear.")) {
      if (weight) value.mul_(static_cast<double>(positions));
      if (!weight && base.defined()) value.add_(at::special_entr(base).sum());
    } else if (weight) {
      const double gain = name.find(".conv2.") == name.npos ? kGain : kResidual * kGain;
      value.normal_(0, gain / std::sqrt(inputs(value)));
    } else {
      value.normal_(0, kBias);
    }
  }
}

}  // namespace isinglass
