// Pictures of states as PNG files, and such files read.
#pragma once

#include <filesystem>
#include <string>

#include "io/torch.h"

namespace isinglass {

// The scale below for images uint8 of unknown values: of few, which would be nearly black, the
// largest is white; others are grey levels.
int picture_scale(const torch::Tensor& images);

// The bytes of a PNG file.
//
// images: [N, H·W] uint8 or float in [0, 1] (uint8: multiplied by `scale`, 255 for binary states,
// 255 / (K − 1) for K values, 1 for grey levels), drawn as a grid of `columns` with a one-pixel
// frame.
std::string picture_grid(const torch::Tensor& images, int64_t height, int64_t width,
                         int64_t columns, int scale = 255);

// The same as a file. Throws Error as write_file.
void write_picture_grid(const std::filesystem::path& file, const torch::Tensor& images,
                        int64_t height, int64_t width, int64_t columns, int scale = 255);

// The grey levels of a PNG file, uint8 [H, W], by its numbers alone: of 16 bits round(v/257), of
// fewer than 8 scaled to 255, of colours and palettes the luma 0.299 R + 0.587 G + 0.114 B; what a
// file says of gamma and colour spaces is for displays. Throws Error naming the file if it is
// missing, damaged, of more than 2^26 pixels, or transparent anywhere.
torch::Tensor read_png(const std::filesystem::path& file);

}  // namespace isinglass
