// Data files made by the tests, from the published descriptions of their formats.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace isinglass {

inline void put_file(const std::filesystem::path& file, const std::string& bytes) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << bytes;
}

inline void put_gzip(const std::filesystem::path& file, const std::string& bytes) {
  std::filesystem::create_directories(file.parent_path());
  const gzFile out = gzopen(file.c_str(), "wb");
  gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(out);
}

// Returns the bytes to which Python 2 pickles [array], uint8: the shape as opcodes of numbers, the
// elements as a string.
inline std::string numpy_pickle(const std::string& shape, const std::string& escaped,
                                const std::string& type = "u1") {
  return "(lp0\ncnumpy.core.multiarray\n_reconstruct\np1\n(cnumpy\nndarray\np2\n(I0\ntp3\nS'b'"
         "\np4\n"
         "tp5\nRp6\n(I1\n(" +
         shape + "tp7\ncnumpy\ndtype\np8\n(S'" + type +
         "'\np9\nI0\nI1\ntp10\nRp11\n(I3\nS'|'\np12\nNNNI-1\nI-1\nI0\ntp13\nbI00\nS'" + escaped +
         "'\np14\ntp15\nba.";
}

// Returns a .npy file of NumPy's format 1, 2 or 3, of an array in C order.
inline std::string npy_file(char version, const std::string& type, const std::string& shape,
                            const std::string& bytes, const std::string& fortran = "False") {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
  header.resize((header.size() / 64 + 1) * 64, ' ');
  header.back() = '\n';
  std::string length = {static_cast<char>(header.size()), static_cast<char>(header.size() >> 8)};
  if (version > 1) length.resize(4, '\0');
  return std::string("\x93NUMPY") + version + '\0' + length + header + bytes;
}

// Returns an IDX file of unsigned bytes.
inline std::string idx_bytes(const std::vector<uint32_t>& shape, const std::string& content) {
  std::string bytes = {0, 0, 8, static_cast<char>(shape.size())};
  for (const uint32_t size : shape) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift);
  }
  return bytes + content;
}

// The bytes of 32-bit words, the least significant byte first.
inline std::string little_endian(const std::vector<uint32_t>& values) {
  return {reinterpret_cast<const char*>(values.data()), 4 * values.size()};
}

// Returns an element of a MATLAB 5 file, padded to 8 bytes, in the small form if it fits.
inline std::string mat_element(uint32_t type, const std::string& data) {
  std::string element =
      data.size() <= 4 ? little_endian({static_cast<uint32_t>(data.size()) << 16 | type}) + data
                       : little_endian({type, static_cast<uint32_t>(data.size())}) + data;
  element.resize((element.size() + 7) / 8 * 8);
  return element;
}

// Returns a matrix element with the class and flags of MATLAB and the given values.
inline std::string mat_array(const std::string& name, uint32_t class_and_flags,
                             const std::vector<uint32_t>& shape, const std::string& values) {
  const std::string content = mat_element(6, little_endian({class_and_flags, 0})) +
                              mat_element(5, little_endian(shape)) + mat_element(1, name) + values;
  return little_endian({14, static_cast<uint32_t>(content.size())}) + content;
}

inline std::string mat_compressed(const std::string& array) {
  std::string packed(compressBound(array.size()), '\0');
  uLongf size = packed.size();
  compress(reinterpret_cast<Bytef*>(packed.data()), &size,
           reinterpret_cast<const Bytef*>(array.data()), array.size());
  packed.resize(size);
  return little_endian({15, static_cast<uint32_t>(size)}) + packed;
}

inline std::string mat_header() {
  std::string header = "MATLAB 5.0 MAT-file, made by a test";
  header.resize(124, ' ');
  return header + std::string("\x00\x01IM", 4);
}

}  // namespace isinglass
