// Transforms the weights, and runs the kernel on tensors.
#include "models/network/winograd.h"

#include <torch/csrc/autograd/custom_function.h>

#include <array>

#include "kernels/network/winograd.h"

namespace isinglass {
namespace {

constexpr int64_t kChannels = 16;  // The kernel takes multiples of it.

torch::Tensor transformed(const torch::Tensor& weight, bool transposed) {
  const torch::Tensor w = weight.detach().contiguous(at::MemoryFormat::Contiguous);
  const int64_t outputs = w.size(0), inputs = w.size(1);
  torch::Tensor weights = torch::empty(
      {kWinogradProducts, transposed ? outputs : inputs, transposed ? inputs : outputs},
      w.options());
  cpu::winograd_weights(outputs, inputs, w.const_data_ptr<float>(), transposed,
                        weights.mutable_data_ptr<float>());
  return weights;
}

WinogradShape shape_of(const torch::Tensor& x, int64_t outputs) {
  return {.chains = x.size(0),
          .height = x.size(2),
          .width = x.size(3),
          .inputs = x.size(1),
          .outputs = outputs};
}

// Returns the convolution of x [B, I, H, W] with transformed weights [36, I, O].
torch::Tensor convolved(const torch::Tensor& x, const torch::Tensor& weights, const float* bias) {
  const torch::Tensor rows = x.contiguous(at::MemoryFormat::ChannelsLast);
  const WinogradShape shape = shape_of(x, weights.size(2));
  torch::Tensor out =
      torch::empty({shape.chains, shape.outputs, shape.height, shape.width},
                   x.options().requires_grad(false).memory_format(at::MemoryFormat::ChannelsLast));
  cpu::winograd(shape, rows.const_data_ptr<float>(), weights.const_data_ptr<float>(), bias,
                out.mutable_data_ptr<float>());
  return out;
}

// Returns the gradient in weights [O, I, 3, 3], given that in the output.
torch::Tensor weight_gradient(const torch::Tensor& x, const torch::Tensor& at_output) {
  const torch::Tensor rows = x.contiguous(at::MemoryFormat::ChannelsLast);
  const torch::Tensor at_rows = at_output.contiguous(at::MemoryFormat::ChannelsLast);
  const WinogradShape shape = shape_of(x, at_output.size(1));
  torch::Tensor gradient = torch::empty({shape.outputs, shape.inputs, 3, 3}, x.options());
  cpu::winograd_weight_gradient(shape, rows.const_data_ptr<float>(),
                                at_rows.const_data_ptr<float>(),
                                gradient.mutable_data_ptr<float>());
  return gradient;
}

// Gives the convolution to autograd. `weights` are the transformed ones of `weight`.
struct Convolution : torch::autograd::Function<Convolution> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& weight, const torch::Tensor& bias,
                               const torch::Tensor& weights) {
    context->save_for_backward({x, weight});
    return convolved(x, weights, bias.const_data_ptr<float>());
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& at_output) {
    const torch::autograd::variable_list saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &weight = saved[1], &at_out = at_output[0];
    const bool of_x = context->needs_input_grad(0), of_weight = context->needs_input_grad(1),
               of_bias = context->needs_input_grad(2);
    if (at::GradMode::is_enabled()) {
      const auto [at_x, at_weight, at_bias] =
          at::convolution_backward(at_out, x, weight, weight.sizes().slice(0, 1), {1, 1}, {1, 1},
                                   {1, 1}, false, {0, 0}, 1, {of_x, of_weight, of_bias});
      return {at_x, at_weight, at_bias, {}};
    }
    return {of_x ? convolved(at_out, transformed(weight, true), nullptr) : torch::Tensor(),
            of_weight ? weight_gradient(x, at_out) : torch::Tensor(),
            of_bias ? at_out.sum({0, 2, 3}) : torch::Tensor(),
            {}};
  }
};

}  // namespace

bool WinogradLayer::serves(const torch::nn::Conv2d& layer, const torch::Tensor& x) {
  const torch::Tensor& w = layer->weight;
  return x.is_cpu() && x.scalar_type() == torch::kFloat32 && w.scalar_type() == torch::kFloat32 &&
         w.size(2) == 3 && w.size(3) == 3 && w.size(0) % kChannels == 0 &&
         w.size(1) % kChannels == 0 &&
         at::IntArrayRef(layer->options.stride()) == at::IntArrayRef({1, 1});
}

torch::Tensor WinogradLayer::forward(const torch::nn::Conv2d& layer, const torch::Tensor& x) {
  const torch::Tensor& weights =
      weights_.get(std::array{layer->weight}, [&] { return transformed(layer->weight, false); });
  if (!at::GradMode::is_enabled()) {
    return convolved(x, weights, layer->bias.const_data_ptr<float>());
  }
  return Convolution::apply(x, layer->weight, layer->bias, weights);
}

torch::Tensor WinogradLayer::input_gradient(const torch::nn::Conv2d& layer,
                                            const torch::Tensor& at_output) {
  const torch::Tensor& weights =
      transposed_.get(std::array{layer->weight}, [&] { return transformed(layer->weight, true); });
  return convolved(at_output, weights, nullptr);
}

}  // namespace isinglass
