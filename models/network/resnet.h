// ResNet EBM for binary images of H×W (Grathwohl et al. 2021; docs/concepts/energies.md):
//
//   net:   conv 3×3 1→C; blocks 0, 1 with stride 2; blocks 2 … 7 with stride 1; mean over
//          positions; linear to one number
//   block: swish(conv3×3(swish(conv3×3(x, stride))) + x), with x through a strided 1×1 convolution
//          in blocks 0 and 1
//
//   U(x) = −net(x) [ − Σ_i log Bernoulli(x_i; m_i) with a base distribution ]
//
// State dict: proj, net.{0..7}.conv1, net.{i}.conv2, net.{0,1}.shortcut_conv, energy_linear, each
// with weight and bias, and mean [D] with a base distribution. Convolutions run channels-last.
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
  // Fresh weights, by torch.nn's rules. base_mean: float [H·W] strictly inside (0, 1), or
  // undefined.
  ResNetModel(int64_t height, int64_t width, int64_t channels, const torch::Tensor& base_mean);

  // Throws Error, naming the source, unless mean is such a base_mean of images of that size.
  static void check_base_mean(const torch::Tensor& mean, int64_t height, int64_t width,
                              const std::string& source);

  std::string kind_name() const override { return "resnet"; }
  StateSpace space() const override { return {StateKind::kBinary, height_ * width_, 2}; }
  torch::Tensor base_mean() const override { return mean_; }
  FlopCounts flops() const override;
  bool reads_parameters_in_place() const override {
    return precision_ == GradientPrecision::kFloat32;
  }
  void set_gradient_precision(GradientPrecision precision) override { precision_ = precision; }
  bool knows_bfloat16() const override { return true; }
  torch::Tensor energy(const torch::Tensor& x) override;
  void evaluate(const torch::Tensor& x, Evaluation& out) override;

 private:
  struct Slopes;  // what a backward pass needs of a forward pass
  struct Layers {
    torch::nn::Conv2d proj{nullptr};
    torch::nn::Sequential net;
    torch::nn::Linear energy_linear{nullptr};

    explicit Layers(int64_t channels);
    torch::Tensor forward(const torch::Tensor& image);  // net(x) [B] of [B, 1, H, W]
    // The same, detached, keeping slopes of that dtype.
    torch::Tensor forward_with_slopes(const torch::Tensor& image, torch::ScalarType dtype,
                                      Slopes& slopes);
    // ∂net/∂x [B, 1, H, W] of the slopes, which are spent; of their dtype, as the weights are.
    torch::Tensor backward(Slopes& slopes);
    std::vector<torch::Tensor> parameters() const;
  };

  torch::Tensor image_of(const torch::Tensor& flat) const;
  // U [B] of net(x) [B] at relaxed states [B, D].
  torch::Tensor energy_of(const torch::Tensor& log_p, const torch::Tensor& flat) const;
  Layers& low_layers();  // the weights as they are now, in bfloat16

  int64_t height_, width_, channels_;
  Layers layers_;
  torch::Tensor mean_;  // float32 [D] or undefined
  GradientPrecision precision_ = GradientPrecision::kFloat32;
  Derived<Layers> low_;
};

}  // namespace isinglass
