// Transforms the weights, and runs the kernel on tensors.
#include "models/network/winograd.h"

#include <array>

#include "kernels/network/winograd.h"

namespace isinglass {
namespace {

constexpr int64_t kChannels = 16;  // The kernel takes multiples of it.

torch::Tensor transformed(const torch::nn::Conv2d& layer, bool transposed) {
  const torch::Tensor w = layer->weight.contiguous(at::MemoryFormat::Contiguous);
  const int64_t outputs = w.size(0), inputs = w.size(1);
  torch::Tensor weights = torch::empty(
      {kWinogradProducts, transposed ? outputs : inputs, transposed ? inputs : outputs},
      w.options().requires_grad(false));
  cpu::winograd_weights(outputs, inputs, w.const_data_ptr<float>(), transposed,
                        weights.mutable_data_ptr<float>());
  return weights;
}

// Returns the convolution of x [B, I, H, W] with transformed weights [36, I, O].
torch::Tensor convolved(const torch::Tensor& x, const torch::Tensor& weights, const float* bias) {
  const torch::Tensor rows = x.contiguous(at::MemoryFormat::ChannelsLast);
  const WinogradShape shape{.chains = x.size(0),
                            .height = x.size(2),
                            .width = x.size(3),
                            .inputs = weights.size(1),
                            .outputs = weights.size(2)};
  torch::Tensor out =
      torch::empty({shape.chains, shape.outputs, shape.height, shape.width},
                   x.options().requires_grad(false).memory_format(at::MemoryFormat::ChannelsLast));
  cpu::winograd(shape, rows.const_data_ptr<float>(), weights.const_data_ptr<float>(), bias,
                out.mutable_data_ptr<float>());
  return out;
}

}  // namespace

bool WinogradLayer::serves(const torch::nn::Conv2d& layer, const torch::Tensor& x) {
  const torch::Tensor& w = layer->weight;
  return !at::GradMode::is_enabled() && x.is_cpu() && x.scalar_type() == torch::kFloat32 &&
         w.scalar_type() == torch::kFloat32 && w.size(2) == 3 && w.size(3) == 3 &&
         w.size(0) % kChannels == 0 && w.size(1) % kChannels == 0 &&
         at::IntArrayRef(layer->options.stride()) == at::IntArrayRef({1, 1});
}

torch::Tensor WinogradLayer::forward(const torch::nn::Conv2d& layer, const torch::Tensor& x) {
  const torch::Tensor& weights =
      weights_.get(std::array{layer->weight}, [&] { return transformed(layer, false); });
  return convolved(x, weights, layer->bias.const_data_ptr<float>());
}

torch::Tensor WinogradLayer::input_gradient(const torch::nn::Conv2d& layer,
                                            const torch::Tensor& at_output) {
  const torch::Tensor& weights =
      transposed_.get(std::array{layer->weight}, [&] { return transformed(layer, true); });
  return convolved(at_output, weights, nullptr);
}

}  // namespace isinglass
