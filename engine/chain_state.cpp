// Creates step parameters and chain statistics, and resets the statistics.
#include "engine/chain_state.h"

namespace isinglass {

StepParams StepParams::create(uint64_t seed, const std::vector<double>& scale, torch::Device device,
                              int64_t step) {
  return {torch::tensor({static_cast<int64_t>(seed), step}, torch::kInt64).to(device),
          torch::tensor(scale, torch::kFloat64).to(device)};
}

void StepParams::advance(int64_t steps) {
  ops::advance(rng, steps);
}

int64_t StepParams::step() const {
  return rng[1].item<int64_t>();
}

Statistics Statistics::create(int64_t chains, torch::Device device) {
  const auto real = torch::TensorOptions(torch::kFloat64).device(device);
  const auto whole = torch::TensorOptions(torch::kInt64).device(device);
  return {{torch::zeros({chains}, real), torch::zeros({chains}, whole),
           torch::zeros({chains}, real), torch::zeros({chains}, whole),
           torch::zeros({chains}, whole)}};
}

void Statistics::reset() {
  for (torch::Tensor* sum : {&acceptance_sum, &hops_sum, &non_finite}) sum->zero_();
}

void Statistics::clear() {
  reset();
  for (torch::Tensor* last : {&acceptance, &hops}) last->zero_();
}

}  // namespace isinglass
