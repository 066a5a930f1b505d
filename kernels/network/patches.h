// The patches around the positions of images, as rows: with them a 3×3 convolution of padding 1 is one
// product with its weights,
//
//   rows[b, i, j][3·p + q, c] = image[b, stride·i + p − 1, stride·j + q − 1, c],  0 outside of the image
//
// Images and rows are channels-last: rows [B·H'·W', 9·C] with H' = ⌈H / stride⌉.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/base/host_device.h"

namespace isinglass {

struct PatchShape {
  int64_t images, height, width, channels, stride;

  ISINGLASS_HD int64_t out_height() const { return (height + stride - 1) / stride; }
  ISINGLASS_HD int64_t out_width() const { return (width + stride - 1) / stride; }
  ISINGLASS_HD int64_t numbers() const {  // of the rows
    return images * out_height() * out_width() * 9 * channels;
  }
};

// Fewer than 2^32 numbers.
ISINGLASS_TWINS(patches, const PatchShape& shape, const float* image, float* rows, Stream)

// What a thread does: kWide neighbouring channels of one tap, which divide the channels.
template <int kWide>
ISINGLASS_HD inline void patch_numbers(uint32_t i, const PatchShape& s, const float* image,
                                       float* rows) {
  const auto groups = static_cast<uint32_t>(s.channels / kWide);
  const auto out_width = static_cast<uint32_t>(s.out_width());
  const auto out_height = static_cast<uint32_t>(s.out_height());
  const uint32_t group = i % groups, tap = i / groups % 9, position = i / groups / 9;
  const uint32_t column = position % out_width, line = position / out_width;
  const int64_t y = static_cast<int64_t>(line % out_height) * s.stride + tap / 3 - 1;
  const int64_t x = static_cast<int64_t>(column) * s.stride + tap % 3 - 1;
  const int64_t b = line / out_height;
  struct alignas(kWide * sizeof(float)) Numbers {
    float number[kWide];
  } numbers = {};
  if (y >= 0 && y < s.height && x >= 0 && x < s.width) {
    memcpy(&numbers, image + ((b * s.height + y) * s.width + x) * s.channels + group * kWide,
           sizeof numbers);
  }
  memcpy(rows + static_cast<int64_t>(i) * kWide, &numbers, sizeof numbers);
}

}  // namespace isinglass
