// Small data sets and models for the tests of training.
#pragma once

#include <memory>

#include "io/torch.h"
#include "models/energy_model.h"
#include "models/registry.h"
#include "train/data/dataset.h"

namespace isinglass {

// Returns side × side bars and stripes: every pattern whose rows, or whose columns, are constant.
// The two constant images occur twice. uint8 [2·2^side, side²].
inline Dataset bars_and_stripes(int64_t side) {
  const torch::Tensor bits =
      torch::arange(1 << side).unsqueeze(1).bitwise_right_shift(torch::arange(side)).bitwise_and(1);
  const torch::Tensor rows = bits.unsqueeze(2).expand({-1, side, side});
  Dataset data;
  data.name = "bars-and-stripes";
  data.train = torch::cat({rows.flatten(1), rows.transpose(1, 2).flatten(1)}).to(torch::kUInt8);
  data.height = data.width = side;
  return data;
}

// Returns a seeded random image of grey levels for every index.
inline Dataset grey_images(int64_t count, int64_t side) {
  torch::Generator generator = torch::make_generator<at::CPUGeneratorImpl>(5);
  Dataset data;
  data.name = "grey";
  data.train =
      torch::randint(0, 256, {count, side * side}, generator, torch::TensorOptions(torch::kUInt8));
  data.height = data.width = side;
  data.values = PixelValues::kGrey;
  return data;
}

// Returns a seeded random categorical image for every index, of the given size and number of
// values. Lower values are more probable further down.
inline Dataset categorical_images(int64_t count, int64_t height, int64_t width, int64_t values) {
  torch::Generator generator = torch::make_generator<at::CPUGeneratorImpl>(6);
  const torch::Tensor power = torch::linspace(0.5, 3, height * width);
  Dataset data;
  data.name = "categorical";
  data.train = (torch::rand({count, height * width}, generator).pow(power) * values)
                   .clamp_max(values - 1)
                   .to(torch::kUInt8);
  data.height = height;
  data.width = width;
  data.values = PixelValues::kCategorical;
  data.categories = values;
  return data;
}

// All binary states of D sites, uint8 [2^D, D].
inline torch::Tensor all_states(int64_t sites) {
  return torch::arange(int64_t{1} << sites)
      .unsqueeze(1)
      .bitwise_right_shift(torch::arange(sites))
      .bitwise_and(1)
      .to(torch::kUInt8);
}

// All states of D sites of K values, uint8 [K^D, D].
inline torch::Tensor all_states(int64_t sites, int64_t values) {
  const torch::Tensor place = torch::pow(values, torch::arange(sites));
  const torch::Tensor number = torch::arange((place[-1] * values).item<int64_t>()).unsqueeze(1);
  return number.div(place, "floor").remainder(values).to(torch::kUInt8);
}

// U(x) = a·x + sin(w·x) in float64. It is neither linear nor quadratic, and its derivatives are
// easily written out.
class SineModel : public EnergyModel {
 public:
  explicit SineModel(int64_t sites) : sites_(sites) {
    const torch::Tensor i = torch::arange(sites, torch::kFloat64);
    a = register_parameter("a", 0.4 * torch::cos(1.1 * i + 0.3));
    w = register_parameter("w", 0.8 + 0.3 * torch::sin(2.3 * i));
  }

  std::string kind_name() const override { return "sine"; }
  StateSpace space() const override { return {StateKind::kBinary, sites_, 2}; }
  torch::Tensor energy(const torch::Tensor& x) override {
    const torch::Tensor state = x.to(torch::kFloat64);
    return state.matmul(a) + torch::sin(state.matmul(w));
  }

  torch::Tensor a, w;

 private:
  int64_t sites_;
};

// Returns a ResNet with initial parameters, which is nearly constant, multiplied by `scale`.
inline std::shared_ptr<EnergyModel> fresh_network(const NewModelOptions& options, double scale) {
  const auto model = new_model("resnet", options, /*seed=*/3);
  torch::NoGradGuard no_grad;
  for (auto& p : model->named_parameters()) {
    if (p.key().starts_with("energy_linear"))
      p.value().mul_(p.key().ends_with("weight") ? scale : 0);
  }
  return model;
}

}  // namespace isinglass
