// PNG files: written by libpng from samples in one of its formats, and written byte by byte as the
// standard (ISO/IEC 15948) specifies, with any depth and any chunks.
#pragma once

#include <gtest/gtest.h>
#include <png.h>
#include <zlib.h>

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

inline std::string png_number(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

inline std::string png_chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  const auto checksum =
      crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return png_number(static_cast<uint32_t>(data.size())) + body +
         png_number(static_cast<uint32_t>(checksum));
}

// Returns a PNG file of the header's 13 bytes and of unpacked rows, each of which follows the byte
// of its filter. `chunks` are put between them.
inline std::string png_of(const std::string& header, const std::string& raw,
                          const std::string& chunks = "") {
  std::string packed(compressBound(raw.size()), '\0');
  uLongf size = packed.size();
  compress(reinterpret_cast<Bytef*>(packed.data()), &size,
           reinterpret_cast<const Bytef*>(raw.data()), raw.size());
  packed.resize(size);
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", header) + chunks + png_chunk("IDAT", packed) +
         png_chunk("IEND", "");
}

inline std::string png_header(int depth, int colour_type, uint32_t height, uint32_t width) {
  return png_number(width) + png_number(height) + static_cast<char>(depth) +
         static_cast<char>(colour_type) + std::string(3, '\0');
}

// Returns a PNG file of rows without filters, packed for the depth.
inline std::string png_file(int depth, int colour_type, uint32_t height, uint32_t width,
                            const std::vector<std::string>& rows, const std::string& chunks = "") {
  std::string raw;
  for (const std::string& row : rows) raw += '\0' + row;
  return png_of(png_header(depth, colour_type, height, width), raw, chunks);
}

}  // namespace isinglass
