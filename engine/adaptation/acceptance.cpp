// Implements the Robbins–Monro adaptation of a step size and its verdicts.
#include "engine/adaptation/acceptance.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/sampler.h"

namespace isinglass {
namespace {

constexpr double kNear = 0.1;
constexpr double kFewestHops = 0.01;

}  // namespace

torch::Tensor informative_acceptance(const torch::Tensor& acceptance, const torch::Tensor& moved,
                                     double target) {
  return torch::where(moved > 0, acceptance, acceptance.clamp_max(target));
}

void adapt_scale(torch::Tensor value, const Scale& range, const torch::Tensor& acceptance,
                 int64_t t, double target) {
  const double gain = std::pow(static_cast<double>(t + 1), -0.6);
  const torch::Tensor excess = acceptance - target;
  value.mul_(torch::exp(gain * excess)).clamp_(range.least, range.most);
}

Adaptation adapted_scale(double value, const Scale& range, const BurnIn& burn_in, double target) {
  const double excess = burn_in.acceptance - target;
  const bool at_end = excess > 0 ? value >= range.most : value <= range.least;
  Adaptation result{.rounds = burn_in.steps, .converged = std::abs(excess) <= kNear || at_end};
  if (!result.converged) {
    result.warning = fmt::format(
        "`adapt` aims at a mean acceptance of {:.3g}, and at the end of burn-in it was "
        "{:.3g}",
        target, burn_in.acceptance);
  }
  return result;
}

void doubt_frozen(Adaptation& adapted, double hops, double acceptance) {
  if (!(hops < kFewestHops)) return;
  adapted.converged = false;
  adapted.warning = fmt::format(
      "`adapt` has no signal to adapt to: at the end of burn-in a step changed {:.2g} sites at a "
      "mean acceptance of {:.3g}, which counts proposals equal to the current state; the chains "
      "are frozen",
      hops, acceptance);
}

}  // namespace isinglass
