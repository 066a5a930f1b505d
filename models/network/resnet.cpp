// Implements the network with autograd, for training, and with an explicit backward pass, for
// sampling.
#include "models/network/resnet.h"

#include <array>

#include "io/error.h"
#include "kernels/ops/swish.h"
#include "models/network/winograd.h"
#include "models/scoped_torch_seed.h"

namespace isinglass {
namespace {

constexpr int kBlocks = 8, kStridedBlocks = 2;

torch::nn::Conv2d convolution(int64_t from, int64_t to, int64_t kernel, int64_t stride) {
  return float32_layer<torch::nn::Conv2d>(
      torch::nn::Conv2dOptions(from, to, kernel).stride(stride).padding(kernel / 2));
}

torch::Tensor channels_last(const torch::Tensor& x) {
  return x.contiguous(at::MemoryFormat::ChannelsLast);  // copies only for unusual shapes
}

at::IntArrayRef padding_of(const torch::nn::Conv2d& c) {
  return std::get<torch::ExpandingArray<2>>(c->options.padding());
}

// With fewer input channels than a vector has numbers (8 of AVX2, 16 of AVX-512), oneDNN's gradient
// in the weights of a strided 1×1 convolution is wrong and writes out of bounds (LibTorch 2.11,
// oneDNN's issue 6035).
constexpr int64_t kFewestChannels = 16;

// Computes a convolution that is differentiable in the weights, too, unless gradients are off.
torch::Tensor convolve(const torch::nn::Conv2d& c, const torch::Tensor& x) {
  if (x.is_cuda() || x.size(1) >= kFewestChannels || !at::GradMode::is_enabled()) {
    return at::conv2d(x, c->weight, c->bias, c->options.stride(), padding_of(c));
  }
  return at::thnn_conv2d(x, c->weight, c->weight.sizes().slice(2), c->bias, c->options.stride(),
                         padding_of(c));
}

// Returns the gradient in a convolution's input, given the gradient in its output.
torch::Tensor input_gradient(const torch::nn::Conv2d& c, const torch::Tensor& at_output,
                             at::IntArrayRef shape) {
  const torch::Tensor input =  // only its shape and layout are used
      torch::empty(shape, at_output.options().memory_format(at::MemoryFormat::ChannelsLast));
  return channels_last(std::get<0>(at::convolution_backward(
      at_output, input, c->weight, std::nullopt, c->options.stride(), padding_of(c),
      c->options.dilation(), false, {0, 0}, 1, {true, false, false})));
}

// Adds a second channel of zeros.
torch::Tensor with_zeros(const torch::Tensor& one) {
  torch::Tensor two = at::empty({one.size(0), 2, one.size(2), one.size(3)},
                                one.options().memory_format(at::MemoryFormat::ChannelsLast));
  two.zero_().narrow(1, 0, 1).copy_(one);
  return two;
}

// Computes a convolution with stride 1 and few input channels. On a CPU, if the gradient in the
// weights is needed, it multiplies the patches around all positions, extended by a 1, with the
// weights and the bias (see kFewestChannels); on a GPU im2col would need one launch per image. With
// one channel oneDNN returns another memory layout, so that a second channel of zeros is added.
torch::Tensor first_convolution(const torch::nn::Conv2d& c, const torch::Tensor& image) {
  if (image.is_cuda()) {
    return channels_last(at::conv2d(image, c->weight, c->bias, 1, padding_of(c)));
  }
  if (!at::GradMode::is_enabled()) {
    if (image.size(1) > 1) return at::conv2d(image, c->weight, c->bias, 1, padding_of(c));
    return at::conv2d(with_zeros(image), with_zeros(c->weight), c->bias, 1, padding_of(c));
  }
  const torch::Tensor patches = at::constant_pad_nd(  // [B, k·k + 1, H·W]
      at::im2col(image, c->weight.sizes().slice(2), {1, 1}, padding_of(c), {1, 1}), {0, 0, 0, 1},
      1);
  const torch::Tensor weights = torch::cat({c->weight.flatten(1), c->bias.unsqueeze(1)}, 1);
  return torch::matmul(patches.transpose(1, 2), weights.t())  // [B, H·W, C]
      .unflatten(1, {image.size(2), image.size(3)})
      .permute({0, 3, 1, 2});
}

// Number of columns to which the product in first_input_gradient() is padded. The patches of one
// channel have nine numbers, and with nine columns the product takes more than twice as long (MKL
// on AMD processors).
constexpr int64_t kColumns = 16;

// Returns the gradient in the image, given the gradient in the output as the sum of two parts. It
// overwrites `part`.
torch::Tensor first_input_gradient(const torch::nn::Conv2d& c, torch::Tensor& part,
                                   const torch::Tensor& more) {
  part.add_(more);
  const int64_t channels = c->weight.size(1);
  if (part.is_cuda() || channels > 1) {
    return input_gradient(c, part, {part.size(0), channels, part.size(2), part.size(3)});
  }
  // For one channel, oneDNN's transposed convolution takes at least twice as long as this product.
  const torch::Tensor at_positions =
      part.permute({0, 2, 3, 1}).flatten(0, 2);  // [B·H·W, C], no copy
  const int64_t patch = c->weight[0].numel();
  const torch::Tensor weights = at::constant_pad_nd(c->weight.flatten(1), {0, kColumns - patch});
  const torch::Tensor at_patches =
      at_positions.mm(weights).view({part.size(0), -1, weights.size(1)});
  return at::col2im(at_patches.narrow(2, 0, patch).transpose(1, 2), part.sizes().slice(2),
                    c->weight.sizes().slice(2), {1, 1}, padding_of(c), {1, 1});
}

// Holds the derivatives of a block's two swishes, and the shape of its input.
struct BlockSlopes {
  torch::Tensor inner, outer;
  std::vector<int64_t> shape;
};

struct BlockImpl : torch::nn::Module {
  BlockImpl(int64_t channels, int64_t stride)
      : conv1(register_module("conv1", convolution(channels, channels, 3, stride))),
        conv2(register_module("conv2", convolution(channels, channels, 3, 1))) {
    if (stride > 1) {
      shortcut_conv = register_module("shortcut_conv", convolution(channels, channels, 1, stride));
    }
  }

  torch::Tensor forward(const torch::Tensor& x) {
    return merge(output(conv1, winograd1, x), shortcut_conv ? convolve(shortcut_conv, x) : x);
  }

  // Computes the rest of the block, given the outputs of conv1 and of the shortcut.
  torch::Tensor merge(const torch::Tensor& h, const torch::Tensor& other) {
    return torch::silu(output(conv2, winograd2, torch::silu(h)) + other);
  }

  torch::Tensor forward_with_slopes(const torch::Tensor& x, torch::ScalarType dtype,
                                    BlockSlopes& slopes) {
    slopes.shape = x.sizes().vec();
    return merge_with_slopes(channels_last(output(conv1, winograd1, x)),
                             shortcut_conv ? channels_last(shortcut_conv->forward(x)) : x, dtype,
                             slopes);
  }

  // Computes the rest of the block, given the outputs of conv1 and of the shortcut. It overwrites
  // the former.
  torch::Tensor merge_with_slopes(torch::Tensor h, const torch::Tensor& other,
                                  torch::ScalarType dtype, BlockSlopes& slopes) {
    slopes.inner = torch::empty_like(h, dtype);
    ops::swish(h, {}, h, slopes.inner);
    torch::Tensor out = channels_last(output(conv2, winograd2, h));
    slopes.outer = torch::empty_like(out, dtype);
    ops::swish(out, other, out, slopes.outer);
    return out;
  }

  // Backpropagates through the block. The gradient is the sum of `part` and `more`, both as input
  // and as output. It overwrites `part`.
  void backward(torch::Tensor& part, torch::Tensor& more, BlockSlopes& slopes) {
    backward_to_branches(part, more, slopes);
    part = gradient(conv1, winograd1, slopes.inner, slopes.shape);
    more = shortcut_conv ? input_gradient(shortcut_conv, slopes.outer, slopes.shape) : slopes.outer;
  }

  // Replaces the derivatives by the gradients in conv1's output (inner) and in the shortcut's
  // (outer).
  void backward_to_branches(const torch::Tensor& part, const torch::Tensor& more,
                            BlockSlopes& slopes) {
    ops::swish_backward(part, more, slopes.outer, slopes.outer);
    const torch::Tensor& at_sum = slopes.outer;
    const torch::Tensor at_h = gradient(conv2, winograd2, at_sum, at_sum.sizes());
    ops::swish_backward(at_h, {}, slopes.inner, slopes.inner);
  }

  // Return a 3×3 layer's output, and the gradient in its input, by the fastest way.
  static torch::Tensor output(const torch::nn::Conv2d& layer, WinogradLayer& winograd,
                              const torch::Tensor& x) {
    return WinogradLayer::serves(layer, x) ? winograd.forward(layer, x) : convolve(layer, x);
  }
  static torch::Tensor gradient(const torch::nn::Conv2d& layer, WinogradLayer& winograd,
                                const torch::Tensor& at_output, at::IntArrayRef shape) {
    return WinogradLayer::serves(layer, at_output) ? winograd.input_gradient(layer, at_output)
                                                   : input_gradient(layer, at_output, shape);
  }

  torch::nn::Conv2d conv1, conv2, shortcut_conv{nullptr};
  WinogradLayer winograd1, winograd2;
};
TORCH_MODULE(Block);

}  // namespace

struct ResNetModel::Slopes {
  std::vector<BlockSlopes> of_block;
};

ResNetModel::Layers::Layers(const Shape& shape)
    : proj(shape.categories > 0 ? convolution(shape.categories, shape.proj, 1, 1)
                                : convolution(1, shape.channels, 3, 1)),
      proj2(shape.categories > 0 ? convolution(shape.proj, shape.channels, 3, 1) : nullptr),
      energy_linear(
          float32_layer<torch::nn::Linear>(torch::nn::LinearOptions(shape.features(), 1))),
      linear_head(shape.linear_head) {
  for (int i = 0; i < kBlocks; ++i) {
    net->push_back(Block(shape.channels, i < kStridedBlocks ? 2 : 1));
  }
  for (torch::Tensor& p : parameters()) {
    if (p.dim() == 4) p.set_data(p.contiguous(at::MemoryFormat::ChannelsLast));
  }
}

torch::Tensor ResNetModel::Layers::forward(const torch::Tensor& image, const ComposedFront* front) {
  if (front) {
    const auto [h, other] = front->forward(image);
    torch::Tensor map = net->at<BlockImpl>(0).merge(h, other);
    for (size_t i = 1; i < net->size(); ++i) map = net->at<BlockImpl>(i).forward(map);
    return head(map);
  }
  return head(net->forward(first_convolution(first(), image)));
}

torch::Tensor ResNetModel::Layers::head(const torch::Tensor& map) {
  return energy_linear->forward(linear_head ? map.flatten(1) : map.mean({2, 3})).squeeze(1);
}

torch::Tensor ResNetModel::Layers::forward_with_slopes(const torch::Tensor& image,
                                                       const ComposedFront* front,
                                                       torch::ScalarType dtype, Slopes& slopes) {
  torch::NoGradGuard no_grad;
  slopes.of_block.resize(net->size());
  torch::Tensor h;
  if (front) {
    const auto [inner, other] = front->forward(image);
    h = net->at<BlockImpl>(0).merge_with_slopes(inner, other, dtype, slopes.of_block[0]);
  } else {
    h = first_convolution(first(), image);
  }
  for (size_t i = front ? 1 : 0; i < net->size(); ++i) {
    h = net->at<BlockImpl>(i).forward_with_slopes(h, dtype, slopes.of_block[i]);
  }
  return head(h);
}

torch::Tensor ResNetModel::Layers::backward(const ComposedFront* front, Slopes& slopes) {
  torch::NoGradGuard no_grad;
  const torch::Tensor& last = slopes.of_block.back().outer;
  const double positions = static_cast<double>(last.size(2) * last.size(3));
  torch::Tensor part = torch::empty_like(last), more;
  const torch::Tensor& weight = energy_linear->weight;
  part.copy_(linear_head ? weight.view({1, last.size(1), last.size(2), last.size(3)})
                         : (weight / positions).view({1, -1, 1, 1}));
  for (size_t i = net->size(); i-- > (front ? 1 : 0);) {
    net->at<BlockImpl>(i).backward(part, more, slopes.of_block[i]);
  }
  if (front) {
    BlockSlopes& branches = slopes.of_block[0];
    net->at<BlockImpl>(0).backward_to_branches(part, more, branches);
    return front->backward(branches.inner, branches.outer);
  }
  return first_input_gradient(first(), part, more);
}

std::vector<torch::Tensor> ResNetModel::Layers::parameters() const {
  std::vector<torch::Tensor> all = proj->parameters(), none;
  for (const auto& more :
       {proj2 ? proj2->parameters() : none, net->parameters(), energy_linear->parameters()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

ResNetModel::ResNetModel(const Shape& shape, const torch::Tensor& base_mean)
    : shape_(shape), layers_(shape) {
  register_module("proj", layers_.proj);
  if (categorical()) register_module("proj2", layers_.proj2);
  register_module("net", layers_.net);
  register_module("energy_linear", layers_.energy_linear);
  if (base_mean.defined()) {
    check_base_mean(base_mean, shape, "resnet");
    mean_ = register_buffer("mean", base_mean.to(torch::kFloat32).clone());
  }
}

void ResNetModel::check_base_mean(const torch::Tensor& mean, const Shape& shape,
                                  const std::string& source) {
  require(mean.dim() == (shape.categories > 0 ? 2 : 1) && mean.size(0) == shape.sites(),
          "{}: tensor 'mean' has {} values, but an image of {}x{} has {}", source, mean.numel(),
          shape.height, shape.width, shape.sites());
  require(mean.dim() == 1 || mean.size(1) == shape.categories,
          "{}: tensor 'mean' has {} values per site, but 'proj.weight' has {}", source,
          mean.size(-1), shape.categories);
  require(((mean > 0) & (mean < 1)).all().item<bool>(),
          "{}: tensor 'mean' must lie strictly between 0 and 1", source);
}

FlopCounts ResNetModel::flops() const {
  const double channels = static_cast<double>(shape_.channels);
  int64_t height = shape_.height, width = shape_.width;
  const auto convolution = [&](double from, double kernel) {
    return 2 * kernel * kernel * from * channels * static_cast<double>(height * width);
  };
  const double inputs = static_cast<double>(layers_.first()->weight.size(1));
  const double first = convolution(inputs, 3);
  double others = 2 * static_cast<double>(shape_.features());
  for (int i = 0; i < kBlocks; ++i) {
    if (i < kStridedBlocks) {
      height = (height + 1) / 2;
      width = (width + 1) / 2;
      others += convolution(channels, 1);
    }
    others += 2 * convolution(channels, 3);
  }
  FlopCounts counts = FlopCounts::of_network(first, others);
  if (categorical()) {  // a look-up, whose gradient in all K values is a matrix product
    counts.state_gradient += 2 * inputs * static_cast<double>(shape_.sites() * shape_.categories);
    counts.parameter_gradient += first;  // gradient in the looked-up rows
  }
  return counts;
}

torch::Tensor ResNetModel::value_rows() const {
  return layers_.proj->weight.flatten(1).t() + layers_.proj->bias;
}

// Returns the input in channels-last layout, which its strides have to express, because cuDNN
// derives the output's layout from them: contiguous() leaves the strides of a single channel
// unchanged.
torch::Tensor ResNetModel::image_of(const torch::Tensor& x) const {
  if (!categorical()) {
    return x.reshape({-1, shape_.height, shape_.width, 1}).permute({0, 3, 1, 2});
  }
  const torch::Tensor rows =  // [B, D, P]
      x.is_floating_point()
          ? torch::matmul(x, layers_.proj->weight.flatten(1).t()) + layers_.proj->bias
          : torch::embedding(value_rows(), x.to(torch::kInt64));
  return rows.unflatten(1, {shape_.height, shape_.width}).permute({0, 3, 1, 2});
}

// Computes −∂net/∂x − log m. For K values this takes a single product, written into the existing
// tensor.
void ResNetModel::state_gradient(const torch::Tensor& at_image, torch::Tensor& out) {
  if (!categorical()) {
    out = at_image.flatten(1).to(torch::kFloat32).neg();
    if (mean_.defined()) out -= torch::logit(mean_);
    return;
  }
  const torch::Tensor at_rows = at_image.to(torch::kFloat32).permute({0, 2, 3, 1}).flatten(1, 2);
  const std::vector<int64_t> size = {at_rows.size(0), shape_.sites(), shape_.categories};
  if (!out.defined() || out.sizes() != size) out = torch::empty(size, at_rows.options());
  const torch::Tensor weights = layers_.proj->weight.flatten(1).expand({size[0], -1, -1});
  const torch::Tensor base = mean_.defined() ? log_mean().to(torch::kFloat32) : out.new_zeros({});
  at::baddbmm_out(out, base.expand_as(out), at_rows, weights, /*beta=*/-1, /*alpha=*/-1);
}

const torch::Tensor& ResNetModel::log_mean() {
  return log_mean_.get(std::array{mean_}, [&] { return torch::log(mean_.to(torch::kFloat64)); });
}

torch::Tensor ResNetModel::base_at(const torch::Tensor& x) {
  if (!categorical()) {
    const torch::Tensor m = mean_.to(torch::kFloat64);
    return x.to(torch::kFloat64).matmul(torch::logit(m)) + torch::log1p(-m).sum();
  }
  const torch::Tensor& log_m = log_mean();
  if (x.is_floating_point()) return x.to(torch::kFloat64).flatten(1).matmul(log_m.flatten());
  const torch::Tensor site = torch::arange(shape_.sites(), log_m.options().dtype(torch::kInt64));
  return log_m.index({site, x.to(torch::kInt64)}).sum(1);
}

torch::Tensor ResNetModel::energy_of(const torch::Tensor& log_p, const torch::Tensor& x) {
  if (!mean_.defined()) return -log_p;
  return -(log_p.to(torch::kFloat64) + base_at(x));
}

torch::Tensor ResNetModel::energy(const torch::Tensor& x) {
  const torch::Tensor input = categorical() ? x : relaxed(x);
  const torch::Tensor image = image_of(input);
  const torch::Tensor net = by_one_kernel(image, nullptr);
  if (net.defined()) return energy_of(net, input);
  return energy_of(layers_.forward(image, composed_front(image).get()), input);
}

torch::Tensor ResNetModel::by_one_kernel(const torch::Tensor& image, torch::Tensor* at_image) {
  if (at::GradMode::is_enabled() || image.scalar_type() != torch::kFloat32 ||
      layers_.first()->weight.scalar_type() != torch::kFloat32) {
    return {};
  }
  const ResNetShape shape{.height = shape_.height,
                          .width = shape_.width,
                          .inputs = image.size(1),
                          .channels = shape_.channels,
                          .linear_head = shape_.linear_head};
  const int64_t together = ops::resnet_pass_together(shape, image.device());
  if (together == 0) return {};
  pass_.update(shape, *this, layers_.parameters());
  if (at_image && precision_ == GradientPrecision::kBfloat16) {
    // Captured steps with another number of chains, or of energies alone, may read either copy of
    // the weights (reads_parameters_in_place()), so that an evaluation updates both.
    low_layers();
    if (image.size(0) > together) return {};
  }
  return pass_(shape, image, at_image);
}

std::shared_ptr<const ComposedFront> ResNetModel::composed_front(const torch::Tensor& image) {
  const torch::nn::Conv2d& first = layers_.first();
  if (!ComposedFront::serves(image, first)) return nullptr;
  const BlockImpl& block = layers_.net->at<BlockImpl>(0);
  const std::array sources = {first->weight,
                              first->bias,
                              block.conv1->weight,
                              block.conv1->bias,
                              block.shortcut_conv->weight,
                              block.shortcut_conv->bias};
  const auto compose = [&] {
    return std::make_shared<const ComposedFront>(first, block.conv1, block.shortcut_conv);
  };
  return at::GradMode::is_enabled() ? compose() : front_.get(sources, compose);  // with a graph
}

ResNetModel::Layers& ResNetModel::low_layers() {
  const std::vector<torch::Tensor> now = layers_.parameters();
  return low_.get(now, [&] {
    Layers* last = low_.last();
    // New layers draw initial values, which are then replaced; the generator is left as it was.
    const ScopedTorchSeed unchanged(0);
    Layers low = last ? *last : Layers(shape_);
    std::vector<torch::Tensor> weights = low.parameters();
    if (last && weights[0].device() == now[0].device()) {
      at::_foreach_copy_(weights, now);
      return low;
    }
    for (size_t i = 0; i < now.size(); ++i) {
      weights[i].set_data(now[i].detach().to(torch::kBFloat16));
      weights[i].set_requires_grad(false);
    }
    return low;
  });
}

void ResNetModel::evaluate(const torch::Tensor& x, Evaluation& out) {
  torch::NoGradGuard no_grad;
  const torch::Tensor input = categorical() ? x : relaxed(x);
  const bool low = precision_ == GradientPrecision::kBfloat16;
  const torch::Tensor image = image_of(input);
  torch::Tensor at_image;
  if (const torch::Tensor net = by_one_kernel(image, &at_image); net.defined()) {
    store(out.energy, energy_of(net, input));
    return state_gradient(at_image, out.gradient);
  }
  const std::shared_ptr<const ComposedFront> front = composed_front(image);
  Slopes slopes;
  const torch::Tensor log_p = layers_.forward_with_slopes(
      image, front.get(), low ? torch::kBFloat16 : torch::kFloat32, slopes);
  at_image = (low ? low_layers() : layers_).backward(front.get(), slopes);
  store(out.energy, energy_of(log_p, input).to(torch::kFloat64));
  state_gradient(at_image, out.gradient);
}

}  // namespace isinglass
