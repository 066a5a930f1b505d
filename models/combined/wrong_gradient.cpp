// Implements the targets with misleading gradients as pairs of an energy and another gradient.
#include "models/combined/wrong_gradient.h"

#include <cmath>

#include "models/combined/product.h"
#include "models/density/gaussian.h"
#include "models/density/gaussian_mixture.h"

namespace isinglass {
namespace {

const auto kDouble = torch::kFloat64;

// Penalty that excludes modes: U(x) = refusal if x is farther than `radius` from every centre,
// otherwise 0.
class RefusedOutside : public EnergyModel {
 public:
  RefusedOutside(torch::Tensor centers, double radius, double refusal)
      : centers_(register_buffer("centers", std::move(centers))),
        radius_(radius),
        refusal_(refusal) {}

  std::string kind_name() const override { return "refused-outside"; }
  StateSpace space() const override { return {StateKind::kContinuous, centers_.size(1)}; }
  bool differentiable() const override { return false; }
  torch::Tensor energy(const torch::Tensor& x) override {
    const torch::Tensor distance = torch::cdist(x.to(torch::kFloat64), centers_).amin(1);
    return (distance > radius_).to(torch::kFloat64) * refusal_;
  }

 private:
  torch::Tensor centers_;
  double radius_, refusal_;
};

std::shared_ptr<EnergyModel> equal_mixture(const torch::Tensor& centers, double variance) {
  const int64_t count = centers.size(0);
  return std::make_shared<GaussianMixtureModel>(
      torch::full({count}, 1.0 / static_cast<double>(count), kDouble), centers,
      torch::full_like(centers, 1 / variance));
}

}  // namespace

torch::Tensor Modes::at_right(const torch::Tensor& x) const {
  const auto [distance, nearest] =
      torch::cdist(x.to(torch::kFloat64), centers.to(x.device())).min(1);
  const torch::Tensor is_right = right.to(x.device()).index_select(0, nearest);
  return (is_right & (distance <= radius)).to(torch::kFloat64);
}

WrongGradientModel::WrongGradientModel(std::shared_ptr<EnergyModel> energy,
                                       std::shared_ptr<EnergyModel> gradient, Modes modes,
                                       Start start)
    : GradientOverrideModel(std::move(energy), std::move(gradient)),
      modes_(std::move(modes)),
      start_(std::move(start)) {}

WrongGradientPointer wrong_gradient_mixture() {
  const torch::Tensor centers =
      torch::tensor({-2., 0., 2., 0., 0., 2., 0., -2.}, kDouble).view({4, 2});
  const torch::Tensor right = torch::arange(4) < 2;
  return std::make_shared<WrongGradientModel>(equal_mixture(centers.index({right}), 1),
                                              equal_mixture(centers, 1), Modes{centers, right, 4},
                                              Start{torch::zeros({2}, torch::kFloat32), 2});
}

WrongGradientPointer wrong_gradient_flat(double slope) {
  constexpr double kRadius = 2.5;
  const torch::Tensor mode = torch::ones({2}, kDouble);
  const torch::Tensor every = torch::ones({1}, torch::kBool);
  return std::make_shared<WrongGradientModel>(std::make_shared<GaussianModel>(mode, mode),
                                              std::make_shared<GaussianModel>(mode, slope * mode),
                                              Modes{mode.unsqueeze(0), every, kRadius},
                                              Start{torch::zeros({2}, torch::kFloat32), 2});
}

WrongGradientPointer wrong_gradient_modes(const RefusedModes& modes, Start start) {
  const torch::Tensor centers = modes.centers.to(kDouble);
  const auto all = equal_mixture(centers, modes.variance);
  const auto refused =
      std::make_shared<RefusedOutside>(centers.index({modes.right}), modes.radius, modes.refusal);
  const std::vector<std::shared_ptr<EnergyModel>> factors = {all, refused};
  return std::make_shared<WrongGradientModel>(std::make_shared<ProductModel>(factors), all,
                                              Modes{centers, modes.right, modes.radius},
                                              std::move(start));
}

WrongGradientPointer wrong_gradient_rings(double variance, double radius, double refusal) {
  const torch::Tensor angle = M_PI / 4 * torch::arange(8, kDouble);
  const torch::Tensor right = torch::arange(8) % 2 == 0;
  return wrong_gradient_modes(
      {torch::stack({angle.cos(), angle.sin()}, 1), right, variance, radius, refusal},
      {torch::zeros({2}, torch::kFloat32), 1});
}

}  // namespace isinglass
