// ResNet EBM for images of H×W pixels, binary or with K values (Grathwohl et al. 2021;
// docs/concepts/energies.md). States are uint8 [B, D] with D = H·W.
//
//   net:   conv 3×3 1→C; blocks 0, 1 with stride 2; blocks 2 … 7 with stride 1; mean over
//          positions; linear to one number. With a linear head the last layer is linear in all
//          positions of the last map instead, so that it depends on where a feature is
//   block: swish(conv3×3(swish(conv3×3(x, stride))) + x), with x through a strided 1×1 convolution
//          in blocks 0 and 1
//
//   U(x) = −net(x) [ − Σ_i log Bernoulli(x_i; m_i) with a base distribution ]
//
// For K values, the first convolution is replaced by a 1×1 convolution K→P of the one-hot image,
// followed by conv 3×3 P→C, and the base distribution's log-probability is Σ_i log m_{i,x_i}. For
// states, the 1×1 convolution is computed as a look-up of rows. Its gradient in all K values is a
// product with the gradient in its P outputs, so that no forward pass holds [B, D, K]. New networks
// with K values are initialised as init_smooth.h describes.
//
// The state dict holds proj, net.{0..7}.conv1, net.{i}.conv2, net.{0,1}.shortcut_conv,
// energy_linear, each with weight and bias, and mean [D] with a base distribution. For K values it
// holds proj [P, K, 1, 1] and proj2, and mean [D, K]. Convolutions run channels-last.
//
// U and its gradient in the state are computed without autograd: the forward pass keeps the
// derivatives of the swishes (kernels/network/swish.h), and the backward pass consists of
// transposed convolutions and products with these. bfloat16 gradients use the same float32 forward
// pass, but keep the derivatives in bfloat16; the backward pass uses a bfloat16 copy of the
// weights. On a CPU, the first layers are composed (front.h), and float32 convolutions of stride 1
// run by Winograd's algorithm (winograd.h), with autograd and without it. On a GPU, one kernel
// computes the whole network where it can (resnet_pass.h), except for autograd and for bfloat16
// gradients of more chains than a device computes at a time, for which LibTorch's products by
// tensor cores are expected to be faster.
#pragma once

#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <memory>
#include <vector>

#include "models/cached.h"
#include "models/energy_model.h"
#include "models/network/front.h"
#include "models/network/resnet_pass.h"

namespace isinglass {

class ResNetModel : public EnergyModel {
 public:
  struct Shape {
    int64_t height, width, channels;
    int64_t categories = 0;  // K; 0: binary images
    int64_t proj = 0;        // P, for K values
    bool linear_head = false;

    int64_t sites() const { return height * width; }
    // Returns the number of positions of the last block.
    int64_t positions() const { return (height + 3) / 4 * ((width + 3) / 4); }
    // Returns the number of inputs of the last layer.
    int64_t features() const { return linear_head ? channels * positions() : channels; }
  };

  // Makes new weights by torch.nn's initialisation. base_mean: float [D] or, for K values, [D, K],
  // strictly inside (0, 1); or undefined.
  ResNetModel(const Shape& shape, const torch::Tensor& base_mean);

  // Throws Error, naming the source, unless `mean` is a valid base_mean.
  static void check_base_mean(const torch::Tensor& mean, const Shape& shape,
                              const std::string& source);

  std::string kind_name() const override { return "resnet"; }
  StateSpace space() const override {
    if (categorical()) return {StateKind::kCategorical, shape_.sites(), shape_.categories};
    return {StateKind::kBinary, shape_.sites(), 2};
  }
  torch::Tensor base_mean() const override { return mean_; }
  FlopCounts flops() const override;
  bool reads_parameters_in_place() const override { return true; }
  void set_gradient_precision(GradientPrecision precision) override { precision_ = precision; }
  bool supports_bfloat16() const override { return true; }
  torch::Tensor energy(const torch::Tensor& x) override;
  void evaluate(const torch::Tensor& x, Evaluation& out) override;

 private:
  struct Slopes;  // what a backward pass needs from the forward pass
  struct Layers {
    torch::nn::Conv2d proj{nullptr}, proj2{nullptr};  // the second for K values only
    torch::nn::Sequential net;
    torch::nn::Linear energy_linear{nullptr};
    bool linear_head;

    explicit Layers(const Shape& shape);
    // Returns the 3×3 convolution that comes first, or directly after the projection.
    const torch::nn::Conv2d& first() const { return proj2 ? proj2 : proj; }
    // Returns net(x) [B] of its input [B, 1 or P, H, W]. Here and below, `front` replaces the first
    // layers; it may be null.
    torch::Tensor forward(const torch::Tensor& image, const ComposedFront* front);
    torch::Tensor head(const torch::Tensor& map);  // net(x) [B] of its last map [B, C, h, w]
    // Computes the same without autograd, and keeps the swishes' derivatives in that dtype.
    torch::Tensor forward_with_slopes(const torch::Tensor& image, const ComposedFront* front,
                                      torch::ScalarType dtype, Slopes& slopes);
    // Returns the gradient in the input, in the dtype of the derivatives and of the weights. It
    // overwrites the derivatives.
    torch::Tensor backward(const ComposedFront* front, Slopes& slopes);
    std::vector<torch::Tensor> parameters() const;
  };

  bool categorical() const { return shape_.categories > 0; }
  // Returns the input of the first 3×3 convolution: the image, or the projection of its values.
  torch::Tensor image_of(const torch::Tensor& x) const;
  // Returns the projection's P outputs for each of the values, [K, P].
  torch::Tensor value_rows() const;
  // Returns log m at the states, summed over the sites, float64 [B].
  torch::Tensor base_at(const torch::Tensor& x);
  const torch::Tensor& log_mean();                                              // [D, K]
  torch::Tensor energy_of(const torch::Tensor& log_p, const torch::Tensor& x);  // U [B]
  // Computes the gradient of U in the relaxed states from the gradient of net in image_of().
  void state_gradient(const torch::Tensor& at_image, torch::Tensor& out);
  // Returns the present weights in bfloat16; they stay at the same addresses.
  Layers& low_layers();
  // Returns the first layers composed from the present weights, or null if they are not to be used
  // for that image. If gradients are on, they are composed anew, with a graph.
  std::shared_ptr<const ComposedFront> composed_front(const torch::Tensor& image);
  // Returns net [B] of image_of() by a single kernel, and its gradient in the image unless at_image
  // is null. Returns an undefined tensor if the kernel does not serve the network or its device, or
  // is not to be used.
  torch::Tensor by_one_kernel(const torch::Tensor& image, torch::Tensor* at_image);

  Shape shape_;
  Layers layers_;
  torch::Tensor mean_;  // float32 [D] or [D, K], or undefined
  GradientPrecision precision_ = GradientPrecision::kFloat32;
  Cached<Layers> low_;
  Cached<torch::Tensor> log_mean_;  // float64
  Cached<std::shared_ptr<const ComposedFront>> front_;
  ResNetPass pass_;
};

}  // namespace isinglass
