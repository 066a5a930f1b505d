// File formats by what they look like: a user's own images and `inspect` find their reader here.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "train/data/describe.h"
#include "train/data/own_images.h"

namespace isinglass {

struct DataFormat {
  std::string name;  // "IDX"
  // Returns whether the file has the format, by its name or its first bytes (10 at most, gunzipped;
  // none of a folder).
  std::function<bool(const std::filesystem::path& file, const std::string& start)> recognises;
  // The array in it, images as [N, D] or [N, H, W]. Throws Error naming the file if it is damaged.
  // Null: no images of one's own can be in it, or `read_arrays` reads them.
  std::function<torch::Tensor(const std::filesystem::path& file)> read = nullptr;
  // For `inspect`; null: what `read` returns is described.
  std::function<DataFileDescription(const std::filesystem::path& file)> describe = nullptr;
  // Reads all arrays of a format that can hold several.
  std::function<OwnArrays(const std::filesystem::path& file)> read_arrays = nullptr;
};

// Those of list.inc, whose sources hold the entries; the first that recognises a file is its own.
const std::vector<DataFormat>& data_formats();

// The format of the file, or folder of files; null: none of these, or no file at all.
const DataFormat* format_of(const std::filesystem::path& file);

// Those of a user's own images: ".pt, IDX, …".
std::string readable_formats();

// Whether the name ends so, or so with .gz.
bool is_named(const std::filesystem::path& file, const std::string& ending);

}  // namespace isinglass
