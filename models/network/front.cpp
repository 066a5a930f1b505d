// Composes the weights, and runs the kernels on tensors.
#include "models/network/front.h"

#include <vector>

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

}  // namespace

bool ComposedFront::serves(const torch::Tensor& image, const torch::nn::Conv2d& first) {
  return image.is_cpu() && first->weight.scalar_type() == torch::kFloat32 &&
         image.size(1) <= kMostInputs && image.size(2) % 2 == 0 && image.size(3) % 2 == 0 &&
         first->weight.size(0) % 16 == 0;
}

ComposedFront::ComposedFront(const torch::nn::Conv2d& first, const torch::nn::Conv2d& conv,
                             const torch::nn::Conv2d& shortcut) {
  const auto wide = [](const torch::Tensor& t) { return t.detach().to(torch::kFloat64); };
  const torch::Tensor w = wide(first->weight), w1 = wide(conv->weight);
  const torch::Tensor b = wide(first->bias), ws = wide(shortcut->weight).flatten(1);
  const int64_t channels = w.size(0), inputs = w.size(1);
  torch::Tensor weights = torch::zeros({4, channels, inputs, 5, 5}, w.options());
  torch::Tensor bias = wide(conv->bias).repeat({4, 1});
  for (int64_t y = 0; y < 3; ++y) {
    for (int64_t x = 0; x < 3; ++x) {
      const torch::Tensor tap = w1.select(3, x).select(2, y);  // [C, C]
      const torch::Tensor product =
          tap.matmul(w.contiguous().flatten(1)).view({channels, inputs, 3, 3});
      for (int64_t k = 0; k < 4; ++k) {
        if ((y == 0 && k >= 2) || (x == 0 && k % 2 == 1)) continue;  // outside of the map
        weights[k].narrow(2, y, 3).narrow(3, x, 3) += product;
        bias[k] += tap.mv(b);
      }
    }
  }
  conv_ = part_of(weights, bias);
  shortcut_ = part_of(ws.matmul(w.contiguous().flatten(1)).view({1, channels, inputs, 3, 3}),
                      (wide(shortcut->bias) + ws.mv(b)).unsqueeze(0));
}

// weights: [classes, C, P, k, k].
ComposedFront::Part ComposedFront::part_of(const torch::Tensor& weights,
                                           const torch::Tensor& bias) {
  const torch::Tensor rounded = weights.to(torch::kFloat32);
  Part part{rounded.permute({0, 3, 4, 2, 1}).contiguous(), bias.to(torch::kFloat32).contiguous(),
            rounded.permute({0, 1, 3, 4, 2}).flatten(2)};
  const FrontShape shape{.inputs = weights.size(2), .kernel = weights.size(3)};
  part.backward_weights =
      at::constant_pad_nd(part.backward_weights, {0, shape.padded_taps() - shape.taps()})
          .contiguous();
  return part;
}

torch::Tensor ComposedFront::outputs(const Part& part, const torch::Tensor& image) {
  const FrontShape shape = shape_of(image, part.weights);
  torch::Tensor out = torch::empty({shape.chains, shape.height / 2, shape.width / 2, shape.outputs},
                                   image.options());
  cpu::front(shape, image.const_data_ptr<float>(), part.weights.const_data_ptr<float>(),
             part.bias.const_data_ptr<float>(), out.mutable_data_ptr<float>());
  return out.permute({0, 3, 1, 2});
}

std::pair<torch::Tensor, torch::Tensor> ComposedFront::forward(const torch::Tensor& image) const {
  const torch::Tensor rows = positions_first(image);
  return {outputs(conv_, rows), outputs(shortcut_, rows)};
}

void ComposedFront::add_gradient(const Part& part, const torch::Tensor& at_output,
                                 torch::Tensor& image) {
  const torch::Tensor rows = positions_first(at_output);
  const auto run = [&](const auto* at_out) {
    cpu::front_backward(shape_of(image, part.weights), at_out,
                        part.backward_weights.const_data_ptr<float>(),
                        image.mutable_data_ptr<float>());
  };
  if (rows.scalar_type() == torch::kBFloat16) {
    run(static_cast<const Bfloat16*>(rows.const_data_ptr()));
  } else {
    run(rows.const_data_ptr<float>());
  }
}

torch::Tensor ComposedFront::backward(const torch::Tensor& at_conv,
                                      const torch::Tensor& at_shortcut) const {
  torch::Tensor image = torch::zeros(
      {at_conv.size(0), 2 * at_conv.size(2), 2 * at_conv.size(3), conv_.weights.size(3)},
      at_conv.options().dtype(torch::kFloat32).memory_format(at::MemoryFormat::Contiguous));
  add_gradient(conv_, at_conv, image);
  add_gradient(shortcut_, at_shortcut, image);
  return image.permute({0, 3, 1, 2});
}

}  // namespace isinglass
