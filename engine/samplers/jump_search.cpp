// See jump_search.h.
#include "engine/samplers/jump_search.h"

#include <algorithm>

namespace isinglass {
namespace {

constexpr int kProbes = 3;  // unchanged, +, −

double probed(double value, int parameter, int probe, double gamma) {
  const double factor[kProbes] = {1, 1 + gamma, 1 - gamma};
  const double moved = value * factor[probe];
  return parameter == 1 ? std::min(1.0, moved) : moved;
}

}  // namespace

JumpSearch::JumpSearch(Values start) : best_(start), chosen_(start) {}

JumpSearch::Values JumpSearch::trial() const {
  Values values = best_;
  values[parameter_] = probed(best_[parameter_], parameter_, probe_, gamma_);
  return values;
}

void JumpSearch::record(const torch::Tensor& jump) {
  if (!jumps_.defined()) jumps_ = torch::zeros({kProbes}, jump.options());
  jumps_.select(0, probe_).add_(jump);
  if (++steps_ < kSteps) return;
  steps_ = 0;
  if (++probe_ < kProbes) return;
  probe_ = 0;
  next_parameter();
}

void JumpSearch::next_parameter() {
  const torch::Tensor sums = jumps_.to(torch::kCPU);
  const double* jump = sums.const_data_ptr<double>();
  const double longest = std::max({jump[0], jump[1], jump[2]});
  const int winner = jump[1] == longest ? 1 : jump[2] == longest ? 2 : 0;
  chosen_[parameter_] = probed(best_[parameter_], parameter_, winner, gamma_);
  jumps_.zero_();
  if (++parameter_ < 2) return;
  parameter_ = 0;
  if (chosen_ == best_) gamma_ *= 0.9;
  best_ = chosen_;
}

}  // namespace isinglass
