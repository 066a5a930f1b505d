// A PNG file of the given samples in one of libpng's formats.
#pragma once

#include <gtest/gtest.h>
#include <png.h>

#include <cstdint>
#include <string>
#include <vector>

namespace isinglass {

inline std::string png_bytes(uint32_t format, uint32_t height, uint32_t width,
                             const std::vector<uint8_t>& samples) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  png.height = height;
  png.width = width;
  png.format = format;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::string bytes(size, '\0');
  const int done =
      png_image_write_to_memory(&png, bytes.data(), &size, 0, samples.data(), 0, nullptr);
  EXPECT_NE(done, 0) << png.message;
  bytes.resize(size);
  return bytes;
}

}  // namespace isinglass
