// Draws states as PNG files, and reads PNG files.
#pragma once

#include <filesystem>
#include <string>

#include "io/torch.h"

namespace isinglass {

// Returns the scale (see picture_grid()) for uint8 images with an unknown number of values. With
// few values, which would look almost black, the largest becomes white; otherwise they are grey
// levels.
int picture_scale(const torch::Tensor& images);

// Returns the bytes of a PNG file that shows the images as a grid of `columns` with a one-pixel
// frame. Smaller images are enlarged by the smallest whole factor that makes their longer side at
// least 28 pixels.
//
// images: [N, H·W], uint8 or float in [0, 1]. uint8 values are multiplied by `scale`: 255 for
// binary states, 255 / (K − 1) for K values, 1 for grey levels.
std::string picture_grid(const torch::Tensor& images, int64_t height, int64_t width,
                         int64_t columns, int scale = 255);

// Writes these bytes to a file. Throws Error as write_file() does.
void write_picture_grid(const std::filesystem::path& file, const torch::Tensor& images,
                        int64_t height, int64_t width, int64_t columns, int scale = 255);

// Returns the grey levels of a PNG file, uint8 [H, W]. They are computed from its numbers only:
// 16-bit values become round(v/257), values of fewer than 8 bits are scaled to 255, colours and
// palettes become the luma 0.299 R + 0.587 G + 0.114 B. Gamma and colour-space entries concern
// displays and are ignored. Throws Error naming the file if it is missing, damaged, larger than
// 2^26 pixels, or transparent anywhere.
torch::Tensor read_png(const std::filesystem::path& file);

}  // namespace isinglass
