// ResNet EBM for images of H×W, binary or of K values (Grathwohl et al. 2021;
// docs/concepts/energies.md):
//
//   net:   conv 3×3 1→C; blocks 0, 1 with stride 2; blocks 2 … 7 with stride 1; mean over
//          positions; linear to one number
//   block: swish(conv3×3(swish(conv3×3(x, stride))) + x), with x through a strided 1×1 convolution
//          in blocks 0 and 1
//
//   U(x) = −net(x) [ − Σ_i log Bernoulli(x_i; m_i) with a base distribution ]
//
// Of K values conv 3×3 1→C is a convolution 1×1 K→P of the one-hot image, then conv 3×3 P→C; and the
// base is Σ_i log m_{i,x_i}. At states the 1×1 convolution is a look-up of rows; its gradient in all K
// values is a product of the gradient in its P outputs: no forward pass holds [B, D, K]. A new one begins as
// smooth_start.h says.
//
// State dict: proj, net.{0..7}.conv1, net.{i}.conv2, net.{0,1}.shortcut_conv, energy_linear, each
// with weight and bias, and mean [D] with a base distribution; of K values proj [P, K, 1, 1] and
// proj2, and mean [D, K]. Convolutions run channels-last.
//
// U and its gradient in the state are written out: the forward pass keeps the slopes of the swishes
// (kernels/network/swish.h), and the backward pass is transposed convolutions and products with
// them. Gradients in bfloat16 are of the same float32 forward pass, whose slopes are kept in that
// precision; the backward pass has a copy of the weights in it.
#pragma once

#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <memory>
#include <vector>

#include "models/derived.h"
#include "models/energy_model.h"

namespace isinglass {

class ResNetModel : public EnergyModel {
 public:
  struct Shape {
    int64_t height, width, channels;
    int64_t categories = 0;  // K; 0: binary images
    int64_t proj = 0;        // P, of K values

    int64_t sites() const { return height * width; }
    int64_t positions() const { return (height + 3) / 4 * ((width + 3) / 4); }  // of the last block
  };

  // Weights by torch.nn's rules. base_mean: float [H·W], or [H·W, K], strictly inside (0, 1), or
  // undefined.
  ResNetModel(const Shape& shape, const torch::Tensor& base_mean);

  // Throws Error, naming the source, unless mean is such a base_mean.
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
  bool knows_bfloat16() const override { return true; }
  torch::Tensor energy(const torch::Tensor& x) override;
  void evaluate(const torch::Tensor& x, Evaluation& out) override;

 private:
  struct Slopes;  // what a backward pass needs of a forward pass
  struct Layers {
    torch::nn::Conv2d proj{nullptr}, proj2{nullptr};  // the second of K values alone
    torch::nn::Sequential net;
    torch::nn::Linear energy_linear{nullptr};

    explicit Layers(const Shape& shape);
    // Of the 3×3 convolution that is the first, or comes after the projection.
    const torch::nn::Conv2d& first() const { return proj2 ? proj2 : proj; }
    torch::Tensor forward(const torch::Tensor& image);  // net(x) [B] of its input [B, 1 or P, H, W]
    // The same, detached, keeping slopes of that dtype.
    torch::Tensor forward_with_slopes(const torch::Tensor& image, torch::ScalarType dtype,
                                      Slopes& slopes);
    // The gradient in that input of the slopes, which are spent; of their dtype, as the weights are.
    torch::Tensor backward(Slopes& slopes);
    std::vector<torch::Tensor> parameters() const;
  };

  bool categorical() const { return shape_.categories > 0; }
  // The input of the first 3×3 convolution: the image, or what its values are projected to.
  torch::Tensor image_of(const torch::Tensor& x) const;
  // The projection's P outputs of every value, [K, P].
  torch::Tensor value_rows() const;
  // log m at the states, summed over sites, float64 [B].
  torch::Tensor base_at(const torch::Tensor& x);
  const torch::Tensor& log_mean();                                              // [D, K]
  torch::Tensor energy_of(const torch::Tensor& log_p, const torch::Tensor& x);  // U [B]
  // The gradient of U in the relaxed states, of net's in image_of.
  void state_gradient(const torch::Tensor& at_image, torch::Tensor& out);
  Layers& low_layers();  // the weights as they are now, in bfloat16, where they were before

  Shape shape_;
  Layers layers_;
  torch::Tensor mean_;  // float32 [D] or [D, K], or undefined
  GradientPrecision precision_ = GradientPrecision::kFloat32;
  Derived<Layers> low_;
  Derived<torch::Tensor> log_mean_;  // float64
};

}  // namespace isinglass
