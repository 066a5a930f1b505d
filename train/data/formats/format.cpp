// Implements the registry of file formats.
#include "train/data/formats/format.h"

#include <zlib.h>

#include <algorithm>
#include <memory>

#include "io/pt/pt_file.h"
#include "train/data/formats/npy.h"

namespace isinglass {

#define ISINGLASS_FORMATS(formats) std::vector<DataFormat> formats();
#include "train/data/formats/list.inc"
#undef ISINGLASS_FORMATS

namespace {

namespace fs = std::filesystem;

// Returns the first bytes, decompressed if the file is a gzip file. Of a corrupt gzip file it
// returns what can be decompressed, possibly nothing.
std::string first_bytes(const fs::path& file, unsigned count) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> in(gzopen(file.c_str(), "rb"), gzclose);
  std::string bytes(count, '\0');
  const int got = in ? gzread(in.get(), bytes.data(), count) : 0;
  bytes.resize(std::max(got, 0));
  return bytes;
}

}  // namespace

const std::vector<DataFormat>& data_formats() {
  static const std::vector<DataFormat> all = [] {
    std::vector<DataFormat> entries;
#define ISINGLASS_FORMATS(formats) \
  for (DataFormat & format : formats()) entries.push_back(std::move(format));
#include "train/data/formats/list.inc"
#undef ISINGLASS_FORMATS
    return entries;
  }();
  return all;
}

const DataFormat* format_of(const fs::path& file) {
  const fs::file_status status = fs::status(file);
  if (!fs::is_regular_file(status) && !fs::is_directory(status)) return nullptr;
  const std::string start = fs::is_directory(status) ? "" : first_bytes(file, 10);
  for (const DataFormat& format : data_formats()) {
    if (format.recognises(file, start)) return &format;
  }
  return nullptr;
}

torch::Tensor read_array(const fs::path& file) {
  const bool numpy =
      fs::is_regular_file(file) && (is_named(file, ".npy") || first_bytes(file, 6) == "\x93NUMPY");
  return numpy ? read_npy(file) : read_tensor(file);
}

bool is_named(const fs::path& file, const std::string& ending) {
  const std::string name = file.filename().string();
  return name.ends_with(ending) || name.ends_with(ending + ".gz");
}

std::string readable_formats() {
  std::string names = ".pt";
  for (const DataFormat& format : data_formats()) {
    if (format.read || format.read_arrays) names += ", " + format.name;
  }
  return names;
}

}  // namespace isinglass
