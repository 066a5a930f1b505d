// See resnet.h.
#include "models/network/resnet.h"

#include "io/error.h"
#include "kernels/ops/swish.h"
#include "models/parameter_file.h"
#include "models/registry.h"
#include "models/seeded.h"

namespace isinglass {
namespace {

constexpr int kBlocks = 8, kStridedBlocks = 2;

torch::nn::Conv2d convolution(int64_t from, int64_t to, int64_t kernel, int64_t stride) {
  return torch::nn::Conv2d(
      torch::nn::Conv2dOptions(from, to, kernel).stride(stride).padding(kernel / 2));
}

torch::Tensor channels_last(const torch::Tensor& x) {
  return x.contiguous(at::MemoryFormat::ChannelsLast);  // as it is, but for rare shapes
}

at::IntArrayRef padding_of(const torch::nn::Conv2d& c) {
  return std::get<torch::ExpandingArray<2>>(c->options.padding());
}

// Of fewer channels, oneDNN's gradient of the weights writes outside its memory on processors without
// AVX-512 (LibTorch 2.11).
constexpr int64_t kFewestChannels = 8;

// Differentiable in the weights, too.
torch::Tensor convolve(const torch::nn::Conv2d& c, const torch::Tensor& x) {
  if (x.is_cuda() || x.size(1) >= kFewestChannels) {
    return at::conv2d(x, c->weight, c->bias, c->options.stride(), padding_of(c));
  }
  return at::thnn_conv2d(x, c->weight, c->weight.sizes().slice(2), c->bias, c->options.stride(),
                         padding_of(c));
}

// The gradient in a convolution's input, of that in its output.
torch::Tensor input_gradient(const torch::nn::Conv2d& c, const torch::Tensor& at_output,
                             at::IntArrayRef shape) {
  const torch::Tensor input =  // only its shape and layout are read
      torch::empty(shape, at_output.options().memory_format(at::MemoryFormat::ChannelsLast));
  return channels_last(std::get<0>(at::convolution_backward(
      at_output, input, c->weight, std::nullopt, c->options.stride(), padding_of(c),
      c->options.dilation(), false, {0, 0}, 1, {true, false, false})));
}

// A convolution of stride 1 of one channel: the patches around all positions, and 1, times weights
// and bias. oneDNN takes twice as long for it, and does not return channels last; on a GPU im2col
// would be a launch an image.
torch::Tensor first_convolution(const torch::nn::Conv2d& c, const torch::Tensor& image) {
  if (image.is_cuda()) {
    return channels_last(at::conv2d(image, c->weight, c->bias, 1, padding_of(c)));
  }
  const torch::Tensor patches = at::constant_pad_nd(  // [B, k·k + 1, H·W]
      at::im2col(image, c->weight.sizes().slice(2), {1, 1}, padding_of(c), {1, 1}), {0, 0, 0, 1},
      1);
  const torch::Tensor weights = torch::cat({c->weight.flatten(1), c->bias.unsqueeze(1)}, 1);
  return torch::matmul(patches.transpose(1, 2), weights.t())  // [B, H·W, C]
      .unflatten(1, {image.size(2), image.size(3)})
      .permute({0, 3, 1, 2});
}

// The gradient in its image [B, 1, H, W], of that in its output, which is the sum of two parts.
torch::Tensor first_input_gradient(const torch::nn::Conv2d& c, const torch::Tensor& part,
                                   const torch::Tensor& more) {
  if (part.is_cuda()) {
    return input_gradient(c, part + more, {part.size(0), 1, part.size(2), part.size(3)});
  }
  const auto at_positions = [](const torch::Tensor& g) {  // [B·H·W, C], no copy
    return g.permute({0, 2, 3, 1}).flatten(0, 2);
  };
  const torch::Tensor weights = c->weight.flatten(1);
  const torch::Tensor at_patches =
      torch::addmm(at_positions(part).mm(weights), at_positions(more), weights);
  return at::col2im(at_patches.view({part.size(0), -1, weights.size(1)}).transpose(1, 2),
                    part.sizes().slice(2), c->weight.sizes().slice(2), {1, 1}, padding_of(c),
                    {1, 1});
}

// Of a block's two swishes, and the shape of its input.
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
    const torch::Tensor h = convolve(conv2, torch::silu(convolve(conv1, x)));
    return torch::silu(h + (shortcut_conv ? convolve(shortcut_conv, x) : x));
  }

  torch::Tensor forward_with_slopes(const torch::Tensor& x, torch::ScalarType dtype,
                                    BlockSlopes& slopes) {
    torch::Tensor h = channels_last(conv1->forward(x)), slope = torch::empty_like(h, dtype);
    ops::swish(h, {}, h, slope);
    slopes = {slope, {}, x.sizes().vec()};
    torch::Tensor out = channels_last(conv2->forward(h));
    const torch::Tensor other = shortcut_conv ? channels_last(shortcut_conv->forward(x)) : x;
    slopes.outer = torch::empty_like(out, dtype);
    ops::swish(out, other, out, slopes.outer);
    return out;
  }

  // The gradient in x as two parts, of which the sum is meant; so it comes in. `part` is spent.
  void backward(torch::Tensor& part, torch::Tensor& more, BlockSlopes& slopes) {
    ops::swish_backward(part, more, slopes.outer, slopes.outer);
    const torch::Tensor& at_sum = slopes.outer;
    const torch::Tensor at_h = input_gradient(conv2, at_sum, at_sum.sizes());
    ops::swish_backward(at_h, {}, slopes.inner, slopes.inner);
    part = input_gradient(conv1, slopes.inner, slopes.shape);
    more = shortcut_conv ? input_gradient(shortcut_conv, at_sum, slopes.shape) : at_sum;
  }

  torch::nn::Conv2d conv1, conv2, shortcut_conv{nullptr};
};
TORCH_MODULE(Block);

}  // namespace

struct ResNetModel::Slopes {
  std::vector<BlockSlopes> of_block;
};

ResNetModel::Layers::Layers(int64_t channels)
    : proj(convolution(1, channels, 3, 1)), energy_linear(channels, 1) {
  for (int i = 0; i < kBlocks; ++i) net->push_back(Block(channels, i < kStridedBlocks ? 2 : 1));
  for (torch::Tensor& p : parameters()) {
    if (p.dim() == 4) p.set_data(p.contiguous(at::MemoryFormat::ChannelsLast));
  }
}

torch::Tensor ResNetModel::Layers::forward(const torch::Tensor& image) {
  const torch::Tensor features = net->forward(first_convolution(proj, image)).mean({2, 3});
  return energy_linear->forward(features).squeeze(1);
}

torch::Tensor ResNetModel::Layers::forward_with_slopes(const torch::Tensor& image,
                                                       torch::ScalarType dtype, Slopes& slopes) {
  torch::NoGradGuard no_grad;
  slopes.of_block.resize(net->size());
  torch::Tensor h = first_convolution(proj, image);
  for (size_t i = 0; i < net->size(); ++i) {
    h = net->at<BlockImpl>(i).forward_with_slopes(h, dtype, slopes.of_block[i]);
  }
  return energy_linear->forward(h.mean({2, 3})).squeeze(1);
}

torch::Tensor ResNetModel::Layers::backward(Slopes& slopes) {
  torch::NoGradGuard no_grad;
  const torch::Tensor& last = slopes.of_block.back().outer;
  const double positions = static_cast<double>(last.size(2) * last.size(3));
  torch::Tensor part = torch::empty_like(last), more;
  part.copy_((energy_linear->weight / positions).view({1, -1, 1, 1}).expand_as(last));
  for (size_t i = net->size(); i-- > 0;) {
    net->at<BlockImpl>(i).backward(part, more, slopes.of_block[i]);
  }
  return first_input_gradient(proj, part, more);
}

std::vector<torch::Tensor> ResNetModel::Layers::parameters() const {
  std::vector<torch::Tensor> all = proj->parameters();
  for (const auto& more : {net->parameters(), energy_linear->parameters()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

ResNetModel::ResNetModel(int64_t height, int64_t width, int64_t channels,
                         const torch::Tensor& base_mean)
    : height_(height), width_(width), channels_(channels), layers_(channels) {
  register_module("proj", layers_.proj);
  register_module("net", layers_.net);
  register_module("energy_linear", layers_.energy_linear);
  if (base_mean.defined()) {
    check_base_mean(base_mean, height, width, "resnet");
    mean_ = register_buffer("mean", base_mean.to(torch::kFloat32).clone());
  }
}

void ResNetModel::check_base_mean(const torch::Tensor& mean, int64_t height, int64_t width,
                                  const std::string& source) {
  require(mean.dim() == 1 && mean.size(0) == height * width,
          "{}: tensor 'mean' has {} values; an image of {}x{} has {}", source, mean.numel(), height,
          width, height * width);
  require(((mean > 0) & (mean < 1)).all().item<bool>(),
          "{}: tensor 'mean' must lie strictly between 0 and 1", source);
}

FlopCounts ResNetModel::flops() const {
  const double channels = static_cast<double>(channels_);
  int64_t height = height_, width = width_;
  const auto convolution = [&](double from, double kernel) {
    return 2 * kernel * kernel * from * channels * static_cast<double>(height * width);
  };
  const double first = convolution(1, 3);
  double others = 2 * channels;
  for (int i = 0; i < kBlocks; ++i) {
    if (i < kStridedBlocks) {
      height = (height + 1) / 2;
      width = (width + 1) / 2;
      others += convolution(channels, 1);
    }
    others += 2 * convolution(channels, 3);
  }
  return FlopCounts::of_network(first, others);
}

torch::Tensor ResNetModel::image_of(const torch::Tensor& flat) const {
  return flat.reshape({-1, 1, height_, width_}).contiguous(at::MemoryFormat::ChannelsLast);
}

torch::Tensor ResNetModel::energy_of(const torch::Tensor& log_p, const torch::Tensor& flat) const {
  if (!mean_.defined()) return -log_p;
  const torch::Tensor m = mean_.to(torch::kFloat64);
  const torch::Tensor base =
      flat.to(torch::kFloat64).matmul(torch::logit(m)) + torch::log1p(-m).sum();
  return -(log_p.to(torch::kFloat64) + base);
}

torch::Tensor ResNetModel::energy(const torch::Tensor& x) {
  const torch::Tensor flat = relaxed(x);
  return energy_of(layers_.forward(image_of(flat)), flat);
}

ResNetModel::Layers& ResNetModel::low_layers() {
  const std::vector<torch::Tensor> now = layers_.parameters();
  return low_.get(now, [&] {
    Layers* last = low_.last();
    const Seeded unchanged(0);  // initial values are drawn, and not used
    Layers low = last ? *last : Layers(channels_);
    std::vector<torch::Tensor> weights = low.parameters();
    for (size_t i = 0; i < now.size(); ++i) {
      weights[i].set_data(now[i].detach().to(torch::kBFloat16));
      weights[i].set_requires_grad(false);
    }
    return low;
  });
}

void ResNetModel::evaluate(const torch::Tensor& x, Evaluation& out) {
  torch::NoGradGuard no_grad;
  const torch::Tensor flat = relaxed(x), image = image_of(flat);
  const bool low = precision_ == GradientPrecision::kBfloat16;
  Slopes slopes;
  const torch::Tensor log_p =
      layers_.forward_with_slopes(image, low ? torch::kBFloat16 : torch::kFloat32, slopes);
  const torch::Tensor at_image = (low ? low_layers() : layers_).backward(slopes);
  store(out.energy, energy_of(log_p, flat).to(torch::kFloat64));
  torch::Tensor gradient = at_image.reshape(flat.sizes()).to(torch::kFloat32).neg();
  if (mean_.defined()) gradient -= torch::logit(mean_);
  out.gradient = gradient;
}

namespace {

std::shared_ptr<EnergyModel> load_resnet(const ModelOptions& options) {
  ParameterReader reader = options.reader();
  const int64_t height = options.image_height, width = options.image_width;
  const int64_t channels = reader.peek("proj.weight", {-1, 1, 3, 3}).size(0);
  require(channels >= 1, "{}: tensor 'proj.weight' has no channels", reader.source());
  // The file really holds so many channels: a crafted one cannot make the model allocate more.
  reader.peek("net.0.conv1.weight", {channels, channels, 3, 3});
  torch::Tensor mean;
  if (reader.has("mean")) {
    mean = reader.peek("mean", {-1});
    ResNetModel::check_base_mean(mean, height, width, reader.source());
  }
  const auto model = std::make_shared<ResNetModel>(height, width, channels, mean);
  load_state(*model, reader);
  return model;
}

std::shared_ptr<EnergyModel> fresh_resnet(const NewModelOptions& options) {
  return std::make_shared<ResNetModel>(options.image_height, options.image_width, options.channels,
                                       options.base_mean);
}

}  // namespace

std::vector<ModelEntry> resnet_models() {
  return {{"resnet", "-net(x) [- log Bernoulli(x; mean)]",
           "proj, net.{0..7}, energy_linear [, mean [D]]", "binary images", true, load_resnet,
           fresh_resnet}};
}

}  // namespace isinglass
