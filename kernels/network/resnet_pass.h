// Computes a ResNet's output and its gradient in the image, for every chain in one kernel: the
// whole network of models/network/resnet.h, forward and backward, in float32.
//
//   front:  a = conv5×5, stride 2 (image), s = conv3×3, stride 2 (image), the first layers composed
//           (models/network/front.h);  o = swish(conv(swish(a)) + s)
//   block 1: o = swish(conv(swish(conv, stride 2 (o))) + conv1×1, stride 2 (o))
//   blocks 2 … 7: o = swish(conv(swish(conv(o))) + o);   all conv are 3×3 with C channels
//   net = w·mean of o over positions + b, or with a linear head w·o + b
//
// Maps of half the image's size have up to 14×14 positions, and those of a quarter up to 7×7.
//
// The order of sums is part of the definition, so that both devices return the same bits if they
// fuse products and sums (fmaf) in the same places, whatever the number of chains:
// - A 3×3 convolution at half size adds its products to the bias and to s, with input channels,
//   rows and columns in ascending order.
// - At quarter size, four shares of the input channels are added separately, of which share n has
//   the channels 8k + 2n and 8k + 2n + 1, then ((share 0 + share 1) + share 2) + share 3, then the
//   bias, then the block's other branch.
// - The gradient in a pixel is the sum of four sums over the channels that are equal modulo 4.
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"

namespace isinglass {

struct ResNetShape {
  int64_t height = 0, width = 0;  // even, at most 28
  int64_t inputs = 0;             // channels P of the image
  int64_t channels = 0;           // C
  bool linear_head = false;

  static constexpr int kConvolutions = 15;  // all 3×3 convolutions but the composed one
  static constexpr int kQuarterSwishes = 14;
  static constexpr int64_t kMostSide = 28, kMostInputs = 8;

  ISINGLASS_HD int64_t half_height() const { return height / 2; }
  ISINGLASS_HD int64_t half_width() const { return width / 2; }
  ISINGLASS_HD int64_t quarter_height() const { return (half_height() + 1) / 2; }
  ISINGLASS_HD int64_t quarter_width() const { return (half_width() + 1) / 2; }
  ISINGLASS_HD int64_t positions() const { return quarter_height() * quarter_width(); }
  ISINGLASS_HD int64_t features() const { return linear_head ? channels * positions() : channels; }
  ISINGLASS_HD int64_t pixels() const { return height * width * inputs; }
};

// Points into the packed weights of a network, float32. All parts have a multiple of four numbers,
// but the last.
struct ResNetWeights {
  const float* front;           // [4, 5, 5, P, C]: classes as in front.h
  const float* front_bias;      // [4, C]
  const float* front_shortcut;  // [3, 3, P, C]
  const float* shortcut_bias;   // [C], of the front's
  const float* strided;         // [C, C], from input to output: block 1's shortcut
  const float* strided_back;    // [C, C], from output to input
  const float* strided_bias;    // [C]
  const float* bias;            // [15, C]
  // [30, C, 3, 3, C]: the convolutions in the order of the pass, [input, tap, output]; then those
  // of the backward pass, in its order, [output, reversed tap, input].
  const float* convolution;
  const float* head;       // [C], or [C, positions]
  const float* head_bias;  // [1]

  ISINGLASS_HD ResNetWeights(const ResNetShape& s, const float* packed) {
    const int64_t c = s.channels;
    const auto take = [&packed](int64_t count) {
      const float* const part = packed;
      packed += count;
      return part;
    };
    front = take(4 * 25 * s.inputs * c);
    front_bias = take(4 * c);
    front_shortcut = take(9 * s.inputs * c);
    shortcut_bias = take(c);
    strided = take(c * c);
    strided_back = take(c * c);
    strided_bias = take(c);
    bias = take(ResNetShape::kConvolutions * c);
    convolution = take(2 * ResNetShape::kConvolutions * 9 * c * c);
    head = take(s.features());
    head_bias = take(1);
  }

  // Returns the number of packed numbers.
  static int64_t count(const ResNetShape& s) {
    const float* const none = nullptr;
    return ResNetWeights(s, none).head_bias - none + 1;
  }
};

// Defines how a block of the GPU's threads shares the work, and the sizes of what it keeps.
struct ResNetTiles {
  static constexpr int kRow = 7;            // positions in a row that a thread computes
  static constexpr int kShares = 4;         // of the input channels, at quarter size
  static constexpr int kStageChannels = 8;  // input channels whose weights are loaded together
  // Numbers from one row of a map to the next, and from one channel to the next.
  static constexpr int kHalfRow = 16, kHalfMap = 16 * kHalfRow;
  static constexpr int kQuarterRow = 12, kQuarterMap = 9 * kQuarterRow;
  // Numbers of shared memory per channel: the maps; two stages of weights, or three shares' sums
  // for four channels of each of 7/4 items.
  static constexpr int kMaps = kHalfMap + 2 * kQuarterMap;
  static constexpr int kWeights = 147;
  static_assert(kWeights >= 2 * kStageChannels * 9 && kWeights >= 3 * 4 * kRow * kRow / 4);
  // Derivatives that a thread keeps: two swishes at half size, four channels each, and those at
  // quarter size, one channel each.
  static constexpr int kSlopes = (2 * 4 + ResNetShape::kQuarterSwishes) * kRow;

  static constexpr int64_t threads(int64_t channels) {
    return channels < 32 ? 128 : kRow * channels;
  }
  static constexpr int64_t shared_bytes(int64_t channels) {
    return (kMaps + kWeights) * channels * static_cast<int64_t>(sizeof(float));
  }
  // Returns how many blocks a multiprocessor holds at a time.
  static constexpr int together(int64_t channels) {
    return channels < 32 ? 3 : channels < 64 ? 2 : 1;
  }
};

// Returns true if the kernel serves networks of that shape on a GPU, given the shared memory that a
// block may use [bytes].
bool resnet_pass_serves(const ResNetShape& shape, int64_t shared_memory);

namespace cuda {

// Return, for the current device: how many chains it computes at a time, each by a block, or 0 if
// it does not serve networks of that shape; and how many numbers of scratch memory a pass with
// gradient needs.
int64_t resnet_pass_together(const ResNetShape& shape);
int64_t resnet_pass_scratch(const ResNetShape& shape, int64_t chains);

}  // namespace cuda

// Writes net [B] for images [B, H, W, P], and, unless at_image is null, the gradient of net in the
// image, [B, H, W, P]. Scratch memory is needed on a GPU, for gradients; it may be null otherwise.
ISINGLASS_TWINS(resnet_pass, const ResNetShape& shape, int64_t chains, const float* weights,
                const float* image, float* scratch, double* net, float* at_image, Stream)

}  // namespace isinglass
