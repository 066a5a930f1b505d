// Implements the parametric balancing functions and their initial parameters.
#include "engine/samplers/learned_balancing.h"

#include <cmath>

#include "kernels/ops/path.h"

namespace isinglass {
namespace {

constexpr int64_t kUnits = 10;       // units of the network: each has w, b and a; there is one c
constexpr int64_t kBlocks = 20;      // blocks of the monotonic network
constexpr int64_t kBlockUnits = 20;  // units of a block: each has v and b
constexpr double kDeepTail = -30;    // below it, log softplus(z) = z to 1e-13

torch::Tensor mixture(const torch::Tensor& theta, const torch::Tensor& d) {
  torch::Tensor log_g = torch::empty({kBalancings, d.size(0), d.size(1)}, d.options());
  ops::log_balances(d, log_g);
  return torch::logsumexp(torch::log_softmax(theta, 0).view({-1, 1, 1}) + log_g, 0);
}

torch::Tensor network(const torch::Tensor& theta, const torch::Tensor& d) {
  const torch::Tensor w = theta.slice(0, 0, kUnits), b = theta.slice(0, kUnits, 2 * kUnits);
  const torch::Tensor a = theta.slice(0, 2 * kUnits, 3 * kUnits), c = theta.select(0, 3 * kUnits);
  return torch::relu(d.unsqueeze(-1) * w + b).matmul(a) + c;
}

// Returns the index, among the units of all blocks, of the unit that gives z at each d. It finds
// the block first, from values [20, B, D] of one block at a time, and then the unit within the
// block.
torch::Tensor active_unit(const torch::Tensor& slope, const torch::Tensor& b,
                          const torch::Tensor& d) {
  const torch::NoGradGuard no_grad;
  torch::Tensor least, block = torch::zeros(d.sizes(), d.options().dtype(torch::kInt64));
  for (int64_t k = 0; k < kBlocks; ++k) {
    const torch::Tensor most =
        torch::addcmul(b[k].view({-1, 1, 1}), slope[k].view({-1, 1, 1}), d).amax(0);
    if (k > 0) block.masked_fill_(most < least, k);
    least = k == 0 ? most : torch::minimum(least, most);
  }
  const torch::Tensor lines = slope.index({block}) * d.unsqueeze(-1) + b.index({block});
  return block * kBlockUnits + lines.argmax(-1);
}

// Computes z of the monotonic network. Its derivative is that of the active unit, so that only this
// unit enters the autograd graph.
torch::Tensor monotonic(const torch::Tensor& theta, const torch::Tensor& d) {
  const torch::Tensor units = theta.view({2, kBlocks, kBlockUnits});
  const torch::Tensor slope = units[0].exp(), b = units[1];
  const torch::Tensor active = active_unit(slope, b, d);
  return slope.view(-1).index({active}) * d + b.reshape(-1).index({active});
}

// Returns log softplus(z). Each branch sees only arguments for which it is accurate, so that no
// gradient is NaN.
torch::Tensor log_softplus(const torch::Tensor& z) {
  const torch::Tensor body = torch::log(-torch::log_sigmoid(-z.clamp_min(kDeepTail)));
  return torch::where(z < kDeepTail, z, body);
}

// Starts with ten ramps, half of them rising and half falling, with knots from −4 to 4.
torch::Tensor initial_network() {
  torch::Tensor theta = torch::zeros({3 * kUnits + 1}, torch::kFloat64);
  for (int64_t k = 0; k < kUnits; ++k) {
    const int64_t pair = k / 2;
    const double sign = k % 2 ? -1 : 1, knot = 2.0 * static_cast<double>(pair) - 4;
    theta[k] = sign;
    theta[kUnits + k] = -sign * knot;
    theta[2 * kUnits + k] = 0.1 * sign;
  }
  return theta;
}

// Starts block k with lines of slopes ¼ … ¾ around the point (c_k, c_k/2), offset so that each is
// the highest somewhere. The knots c_k run from −8 to 8.
torch::Tensor initial_monotonic() {
  torch::Tensor theta = torch::zeros({2, kBlocks, kBlockUnits}, torch::kFloat64);
  for (int64_t k = 0; k < kBlocks; ++k) {
    const double knot = 16.0 * static_cast<double>(k) / (kBlocks - 1) - 8;
    for (int64_t j = 0; j < kBlockUnits; ++j) {
      const double bend = 2.0 * static_cast<double>(j) / (kBlockUnits - 1) - 1;  // −1 … 1
      const double slope = 0.5 + 0.25 * bend;
      theta[0][k][j] = std::log(slope);
      theta[1][k][j] = (0.5 - slope) * knot + 0.25 * (1 - bend * bend);
    }
  }
  return theta.view(-1);
}

}  // namespace

torch::Tensor initial_balancing(BalancingForm form) {
  switch (form) {
    case BalancingForm::kMixture:
      break;
    case BalancingForm::kNetwork:
      return initial_network();
    case BalancingForm::kMonotonic:
      return initial_monotonic();
  }
  return torch::zeros({kBalancings}, torch::kFloat64);
}

torch::Tensor log_balancing(BalancingForm form, const torch::Tensor& theta,
                            const torch::Tensor& d) {
  if (form == BalancingForm::kMixture) return mixture(theta, d);
  const auto z = form == BalancingForm::kNetwork ? network : monotonic;
  return torch::logaddexp(log_softplus(z(theta, d)), d + log_softplus(z(theta, -d))) -
         std::log(2.0);
}

}  // namespace isinglass
