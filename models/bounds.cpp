// Implements reflection at the bounds of continuous sites.
#include "models/bounds.h"

#include <cmath>
#include <numbers>

#include "io/error.h"

namespace isinglass {
namespace {

// Returns x moved to the nearest state within the bounds, against rounding.
torch::Tensor& clamp_to(const Bounds& bounds, torch::Tensor& x) {
  return x.clamp_(static_cast<float>(bounds.low), static_cast<float>(bounds.high));
}

}  // namespace

std::optional<Bounds> bounds_of(const EnergyModel& model) {
  const auto* has = dynamic_cast<const HasBounds*>(&model);
  return has ? has->bounds() : std::nullopt;
}

void require_within(const Bounds& bounds, const torch::Tensor& x, const std::string& what) {
  if (x.numel() == 0) return;
  const auto least = x.min().item<float>(), most = x.max().item<float>();
  const bool below = least < static_cast<float>(bounds.low);
  require(!below && most <= static_cast<float>(bounds.high),
          "{} hold the value {:g}, which is outside of the bounds {:g} and {:g}", what,
          below ? least : most, bounds.low, bounds.high);
}

void check_bounds(const Bounds& bounds, const std::string& option) {
  const auto low = static_cast<float>(bounds.low), high = static_cast<float>(bounds.high);
  require_options(std::isfinite(low) && std::isfinite(high) && low < high,
                  "`{}` is {:g},{:g}; two finite numbers are needed, the lower one first", option,
                  bounds.low, bounds.high);
}

// States within the bounds are not changed, not even in their last bits.
void reflect(const Bounds& bounds, torch::Tensor& y, torch::Tensor& p) {
  const torch::NoGradGuard no_grad;
  const double width = bounds.high - bounds.low;
  const torch::Tensor widths = ((y - bounds.low) / width).floor_();
  const torch::Tensor odd = widths.remainder(2).ne(0);
  torch::Tensor folded = y - width * widths;
  folded = torch::where(odd, bounds.low + bounds.high - folded, folded);
  y.copy_(clamp_to(bounds, folded));
  if (p.defined()) p.copy_(torch::where(odd, -p, p));
}

void make_uniform(const Bounds& bounds, torch::Tensor& z) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor u = 0.5 * torch::erfc(z.to(torch::kFloat64) * (-1 / std::numbers::sqrt2));
  z.copy_(bounds.low + (bounds.high - bounds.low) * u);
  clamp_to(bounds, z);
}

}  // namespace isinglass
