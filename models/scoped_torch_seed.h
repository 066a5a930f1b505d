// Seeds LibTorch's CPU generator, from which torch.nn draws initial values, for the duration of a
// scope. Afterwards the generator has its previous state. Only one thread can be in such a scope at
// a time.
#pragma once

#include <ATen/CPUGeneratorImpl.h>

#include <cstdint>
#include <mutex>

#include "io/torch.h"

namespace isinglass {

class ScopedTorchSeed {
 public:
  explicit ScopedTorchSeed(uint64_t seed);
  ~ScopedTorchSeed();
  ScopedTorchSeed(const ScopedTorchSeed&) = delete;
  ScopedTorchSeed& operator=(const ScopedTorchSeed&) = delete;

 private:
  std::unique_lock<std::recursive_mutex> alone_;
  at::Generator generator_;
  torch::Tensor before_;
};

// Returns a torch.nn layer in float32, with the initial values that a float32 layer gets. The
// default type of the process, which any other code may have changed, has no influence.
template <class Layer, class Options>
Layer float32_layer(const Options& options) {
  const at::Generator generator = at::detail::getDefaultCPUGenerator();
  const torch::Tensor before = generator.get_state();
  Layer layer(options);
  if (layer->weight.scalar_type() == torch::kFloat32) return layer;
  layer->to(torch::kFloat32);
  at::Generator(generator).set_state(before);
  layer->reset_parameters();
  return layer;
}

}  // namespace isinglass
