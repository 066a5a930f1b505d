// Implements the evaluation of large batches in blocks.
#include "models/energies.h"

#include <algorithm>
#include <vector>

#include "models/full_precision.h"

namespace isinglass {
namespace {

constexpr int64_t kBlock = 200;  // states per model call

// Calls f with the blocks of x, copied to the device, until `stop` returns true.
template <class F>
void for_each_block(const torch::Tensor& x, torch::Device device, const std::function<bool()>& stop,
                    F f) {
  torch::NoGradGuard no_grad;
  for (int64_t begin = 0; begin < x.size(0) && !(stop && stop()); begin += kBlock) {
    f(x.narrow(0, begin, std::min(kBlock, x.size(0) - begin)).to(device));
  }
}

torch::Tensor concatenated(const std::vector<torch::Tensor>& blocks) {
  return blocks.empty() ? torch::Tensor() : torch::cat(blocks);
}

}  // namespace

EnergyGrad energies_and_gradients(EnergyModel& model, const torch::Tensor& x, torch::Device device,
                                  const std::function<bool()>& stop) {
  const FullPrecision full;
  std::vector<torch::Tensor> energy, gradient;
  for_each_block(x, device, stop, [&](const torch::Tensor& block) {
    const EnergyGrad result = model.energy_and_grad(block);
    energy.push_back(result.energy.to(torch::kCPU, torch::kFloat64));
    gradient.push_back(result.gradient.to(torch::kCPU));
  });
  return {concatenated(energy), concatenated(gradient)};
}

torch::Tensor energies(EnergyModel& model, const torch::Tensor& x, torch::Device device,
                       const std::function<bool()>& stop) {
  const FullPrecision full;
  std::vector<torch::Tensor> energy = {torch::empty({0}, torch::kFloat64)};
  for_each_block(x, device, stop, [&](const torch::Tensor& block) {
    Evaluation evaluation;
    model.evaluate_energy(block, evaluation);
    energy.push_back(evaluation.energy.to(torch::kCPU, torch::kFloat64));
  });
  return torch::cat(energy);
}

}  // namespace isinglass
