// Implements the reader of .npz archives.
#include "train/data/formats/npz.h"

#include <algorithm>

#include "io/error.h"
#include "io/files.h"
#include "io/pt/zip_directory.h"
#include "train/data/describe.h"
#include "train/data/formats/format.h"
#include "train/data/formats/npy.h"
#include "train/data/readers.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".npy";

struct Record {
  std::string name, bytes;
};

std::vector<Record> records_of(const fs::path& file, std::string_view archive) try {
  require(archive.starts_with("PK"), "is not an .npz file: it is not a zip archive");
  std::vector<Record> records;
  uint64_t left = kLargestDataFile;
  for (const auto& [name, entry] : read_zip_directory(MemorySource(archive)).entries) {
    require(name.ends_with(kEnding), "is not an .npz file: it holds {}", name);
    records.push_back(
        {name.substr(0, name.size() - kEnding.size()), zip_record(archive, entry, left)});
    left -= records.back().bytes.size();
  }
  require(!records.empty(), "holds no arrays");
  return records;
} catch (const Error& error) {
  fail("{} {}", file.string(), error.what());
}

DataFileDescription describe_npz(const fs::path& file) {
  return describe_arrays("NumPy .npz", file, read_npz(file));
}

OwnArrays read_npz_arrays(const fs::path& file) {
  return arrays_named(read_npz(file), file.string());
}

}  // namespace

NamedTensors read_npz(const fs::path& file) {
  NamedTensors arrays;
  const std::string archive = read_maybe_gzip(file, kLargestDataFile);
  for (Record& record : records_of(file, archive)) {
    const std::string where = fmt::format("{}, array '{}',", file.string(), record.name);
    arrays.emplace_back(record.name, npy_array(std::exchange(record.bytes, {}), where));
  }
  return arrays;
}

std::vector<DataFormat> npz_formats() {
  const auto recognises = [](const fs::path& file, const std::string&) {
    return is_named(file, ".npz");
  };
  return {{"NumPy .npz", recognises, nullptr, describe_npz, read_npz_arrays}};
}

}  // namespace isinglass
