// Composes the weights, and runs the kernels on tensors.
#include "models/network/front.h"

#include <torch/csrc/autograd/custom_function.h>

#include <tuple>

#include "kernels/network/front.h"

namespace isinglass {
namespace {

// With more channels of the image, the 25 taps of each cost as much as what they replace.
constexpr int64_t kMostInputs = 8;

// Returns the shape of a pass whose image is [B, H, W, P], for weights [classes, k, k, P, C].
FrontShape shape_of(const torch::Tensor& image, const torch::Tensor& weights) {
  return {.chains = image.size(0),
          .height = image.size(1),
          .width = image.size(2),
          .inputs = image.size(3),
          .outputs = weights.size(4),
          .kernel = weights.size(1),
          .classes = weights.size(0)};
}

torch::Tensor positions_first(const torch::Tensor& map) {
  return map.permute({0, 2, 3, 1}).contiguous();
}

// Returns the outputs [B, C, H/2, W/2], given an image [B, P, H, W].
torch::Tensor run_kernel(const torch::Tensor& image, const torch::Tensor& weights,
                         const torch::Tensor& bias) {
  const torch::Tensor rows = positions_first(image);
  const FrontShape shape = shape_of(rows, weights);
  torch::Tensor out = torch::empty({shape.chains, shape.height / 2, shape.width / 2, shape.outputs},
                                   rows.options());
  cpu::front(shape, rows.const_data_ptr<float>(), weights.const_data_ptr<float>(),
             bias.const_data_ptr<float>(), out.mutable_data_ptr<float>());
  return out.permute({0, 3, 1, 2});
}

// Adds the gradient in the image [B, H, W, P], given that in the output. The shape is that of the
// pass forward.
void add_gradient(const FrontShape& shape, const torch::Tensor& at_output,
                  const torch::Tensor& backward_weights, torch::Tensor& image) {
  const torch::Tensor rows = positions_first(at_output);
  const auto run = [&](const auto* at_out) {
    cpu::front_backward(shape, at_out, backward_weights.const_data_ptr<float>(),
                        image.mutable_data_ptr<float>());
  };
  if (rows.scalar_type() == torch::kBFloat16) {
    run(static_cast<const Bfloat16*>(rows.const_data_ptr()));
  } else {
    run(rows.const_data_ptr<float>());
  }
}

torch::Tensor zero_image(const torch::Tensor& at_output, int64_t inputs) {
  return torch::zeros(
      {at_output.size(0), 2 * at_output.size(2), 2 * at_output.size(3), inputs},
      at_output.options().dtype(torch::kFloat32).memory_format(at::MemoryFormat::Contiguous));
}

// Returns the patches of all positions and a 1 for the bias, [B, P·k·k + 1, H/2·W/2].
torch::Tensor patches_of(const torch::Tensor& image, int64_t kernel) {
  return at::constant_pad_nd(
      at::im2col(image, {kernel, kernel}, {1, 1}, {kernel / 2, kernel / 2}, {2, 2}), {0, 0, 0, 1},
      1);
}

// Returns the gradients in weights [classes, C, P, k, k] and bias [classes, C]. Sums over the first
// row, the first column and both give those of the four classes.
std::pair<torch::Tensor, torch::Tensor> parameter_gradients(const torch::Tensor& image,
                                                            const torch::Tensor& weights,
                                                            const torch::Tensor& at_output) {
  const int64_t height = at_output.size(2), width = at_output.size(3);
  const torch::Tensor patches = patches_of(image, weights.size(3));
  const torch::Tensor rows = at_output.permute({0, 2, 3, 1});  // [B, H/2, W/2, C]
  const auto summed = [&](int64_t of_height, int64_t of_width) {
    const torch::Tensor some = patches.unflatten(2, {height, width})
                                   .narrow(2, 0, of_height)
                                   .narrow(3, 0, of_width)
                                   .flatten(2);
    const torch::Tensor at_some = rows.narrow(1, 0, of_height).narrow(2, 0, of_width).flatten(1, 2);
    return at::bmm(some, at_some).sum(0);  // [P·k·k + 1, C]
  };
  torch::Tensor sums = summed(height, width).unsqueeze(0);
  if (weights.size(0) > 1) {
    const torch::Tensor row = summed(1, width), column = summed(height, 1), corner = summed(1, 1);
    sums = torch::stack({sums[0] - row - column + corner, column - corner, row - corner, corner});
  }
  const torch::Tensor all = sums.transpose(1, 2);
  const int64_t taps = all.size(2) - 1;
  return {all.narrow(2, 0, taps).reshape(weights.sizes()), all.select(2, taps)};
}

// Returns the outputs by products of patches, which LibTorch can differentiate any number of times.
torch::Tensor plain_outputs(const torch::Tensor& image, const torch::Tensor& weights,
                            const torch::Tensor& bias) {
  const torch::Tensor patches = patches_of(image, weights.size(3)).transpose(1, 2);
  const auto of_class = [&](int64_t k) {
    const torch::Tensor taps = torch::cat({weights[k].flatten(1), bias[k].unsqueeze(1)}, 1);
    return patches.matmul(taps.t()).unflatten(1, {image.size(2) / 2, image.size(3) / 2});
  };
  torch::Tensor out = of_class(0);  // [B, H/2, W/2, C]
  if (weights.size(0) > 1) {
    const torch::Tensor first =
        torch::cat({of_class(3).slice(2, 0, 1), of_class(2).slice(2, 1)}, 2);
    const torch::Tensor others = torch::cat({of_class(1).slice(2, 0, 1), out.slice(2, 1)}, 2);
    out = torch::cat({first.slice(1, 0, 1), others.slice(1, 1)}, 1);
  }
  return out.permute({0, 3, 1, 2});
}

// Gives a composed convolution to autograd.
struct FrontConvolution : torch::autograd::Function<FrontConvolution> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& image, const torch::Tensor& weights,
                               const torch::Tensor& bias, const torch::Tensor& forward_weights,
                               const torch::Tensor& backward_weights) {
    context->save_for_backward({image, weights, bias, forward_weights, backward_weights});
    return run_kernel(image, forward_weights, bias);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& at_outputs) {
    const torch::autograd::variable_list saved = context->get_saved_variables();
    const torch::Tensor &image = saved[0], &weights = saved[1], &at_output = at_outputs[0];
    torch::autograd::variable_list gradients(saved.size());
    if (at::GradMode::is_enabled()) {
      torch::autograd::variable_list needed;
      for (size_t n = 0; n < 3; ++n) {
        if (context->needs_input_grad(n)) needed.push_back(saved[n]);
      }
      const torch::autograd::variable_list found =
          torch::autograd::grad({plain_outputs(image, weights, saved[2])}, needed, {at_output},
                                /*retain_graph=*/true, /*create_graph=*/true);
      for (size_t n = 0, next = 0; n < 3; ++n) {
        if (context->needs_input_grad(n)) gradients[n] = found[next++];
      }
      return gradients;
    }
    if (context->needs_input_grad(0)) {
      torch::Tensor at_image = zero_image(at_output, image.size(1));
      add_gradient(shape_of(at_image, saved[3]), at_output, saved[4], at_image);
      gradients[0] = at_image.permute({0, 3, 1, 2});
    }
    if (context->needs_input_grad(1) || context->needs_input_grad(2)) {
      std::tie(gradients[1], gradients[2]) = parameter_gradients(image, weights, at_output);
    }
    return gradients;
  }
};

}  // namespace

bool ComposedFront::serves(const torch::Tensor& image, const torch::nn::Conv2d& first) {
  return image.is_cpu() && first->weight.scalar_type() == torch::kFloat32 &&
         image.size(1) <= kMostInputs && image.size(2) % 2 == 0 && image.size(3) % 2 == 0 &&
         first->weight.size(0) % 16 == 0;
}

ComposedFront::ComposedFront(const ConvolutionWeights& first, const ConvolutionWeights& conv,
                             const ConvolutionWeights& shortcut) {
  const auto wide = [](const torch::Tensor& t) { return t.to(torch::kFloat64); };
  const torch::Tensor w = wide(first.weight), b = wide(first.bias);
  torch::Tensor inside = torch::ones({4, 1, 1, 3, 3}, w.options());
  inside.slice(0, 2, 4).select(3, 0).zero_();     // the first row: classes 2 and 3
  inside.slice(0, 1, 4, 2).select(4, 0).zero_();  // the first column: classes 1 and 3
  const torch::Tensor taps = (wide(conv.weight) * inside).flatten(0, 1);  // [4·C, C, 3, 3]
  conv_ = Part(at::conv_transpose2d(taps, w).unflatten(0, {4, -1}),
               wide(conv.bias) + taps.sum({2, 3}).mv(b).unflatten(0, {4, -1}));
  const torch::Tensor shortcut_taps = wide(shortcut.weight);  // [C, C, 1, 1]
  shortcut_ = Part(at::conv_transpose2d(shortcut_taps, w).unsqueeze(0),
                   (wide(shortcut.bias) + shortcut_taps.flatten(1).mv(b)).unsqueeze(0));
}

std::vector<torch::Tensor> ComposedFront::weights_and_biases() const {
  return {conv_.forward_weights, conv_.bias, shortcut_.forward_weights, shortcut_.bias};
}

ComposedFront::Part::Part(const torch::Tensor& composed, const torch::Tensor& composed_bias)
    : weights(composed.to(torch::kFloat32)), bias(composed_bias.to(torch::kFloat32).contiguous()) {
  const torch::Tensor rounded = weights.detach();
  forward_weights = rounded.permute({0, 3, 4, 2, 1}).contiguous();
  const FrontShape shape{.inputs = weights.size(2), .kernel = weights.size(3)};
  backward_weights = at::constant_pad_nd(rounded.permute({0, 1, 3, 4, 2}).flatten(2),
                                         {0, shape.padded_taps() - shape.taps()})
                         .contiguous();
}

torch::Tensor ComposedFront::Part::outputs(const torch::Tensor& image) const {
  if (!at::GradMode::is_enabled()) return run_kernel(image, forward_weights, bias);
  return FrontConvolution::apply(image, weights, bias, forward_weights, backward_weights);
}

std::pair<torch::Tensor, torch::Tensor> ComposedFront::forward(const torch::Tensor& image) const {
  return {conv_.outputs(image), shortcut_.outputs(image)};
}

torch::Tensor ComposedFront::backward(const torch::Tensor& at_conv,
                                      const torch::Tensor& at_shortcut) const {
  torch::Tensor image = zero_image(at_conv, conv_.weights.size(2));
  for (const auto& [part, at_output] :
       {std::tie(conv_, at_conv), std::tie(shortcut_, at_shortcut)}) {
    add_gradient(shape_of(image, part.forward_weights), at_output, part.backward_weights, image);
  }
  return image.permute({0, 3, 1, 2});
}

}  // namespace isinglass
