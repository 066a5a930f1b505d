// The data sets by name, and what their readers share: where files are looked for, seeded shuffles
// and the reduction of pixel values to levels.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/torch.h"
#include "train/data/dataset.h"

namespace isinglass {

// Bound on the size of a data file, decompressed: a small gzip file can hold far more than a
// machine.
inline constexpr size_t kLargestDataFile = size_t{1} << 31;

// A data set by name. Its functions read its folder of `data_dir` and throw Error as load_dataset.
struct DatasetEntry {
  std::string name;
  std::function<Dataset(const std::filesystem::path& data_dir)> read;
  // Classes of the training images, int64 [N]; null: it has none.
  std::function<torch::Tensor(const std::filesystem::path& data_dir)> labels = nullptr;
  bool points = false;  // of continuous states only
};

// Those of sets/list.inc, whose sources hold the entries.
const std::vector<DatasetEntry>& dataset_registry();

// The built-in set (sets/strokes.cpp): no file.
Dataset make_strokes();

// States of a standard target of binary sites that has Gibbs sweeps: 2000 chains after 2000 sweeps
// from random states, all of them training images (sets/target_states.cpp).
Dataset draw_target_states(const std::string& instance);

// FOLDER/NAME or FOLDER/NAME.gz, whichever exists (the plain file first).
std::optional<std::filesystem::path> find_data_file(const std::filesystem::path& folder,
                                                    const std::string& name);

// The same; an Error that names the missing file and `origin` (what it is and who published it).
std::filesystem::path need_data_file(const std::filesystem::path& folder, const std::string& name,
                                     const std::string& origin);

// Throws Error unless images is [count, height, width] or [count, height·width].
void require_images(const std::filesystem::path& file, const torch::Tensor& images, int64_t count,
                    int64_t height, int64_t width);

// Throws Error unless the pixels, of which `white` is the largest, have the mean of the published
// file, to 0.003: another set of the same shape, or inverted images, have not; other scans and
// binarisations of the same images have.
void require_published(const std::filesystem::path& file, const torch::Tensor& pixels,
                       int64_t white, double mean, const std::string& title);

// A random order of so many images, of seed 0 (Purpose::kSplit).
torch::Tensor shuffled_order(int64_t count);

// The training images in that order: the last `validation` of them become
// data.validation, the rest data.train. Both published uses of Omniglot split so.
void split_validation(Dataset& data, const torch::Tensor& images, int64_t validation);

// Height and width of the images [N, H, W] or [N, D]: as the array has them; of a flat one a square
// where D is a square number, else a single row.
std::pair<int64_t, int64_t> image_size(const torch::Tensor& images);

// Real values from 0 to 1 as uint8 round(255·v).
torch::Tensor grey_levels(const torch::Tensor& values);

// Pixel values of one published array as the uint8 of Dataset: uint8 and bool as they are; real
// values in [0, 1] as they are where all are 0 or 1, else as grey levels. Throws Error for other
// types and values. A user's own are judged by own_images.h.
torch::Tensor to_pixels(const std::filesystem::path& file, const torch::Tensor& values);

// Binary where every pixel is 0 or 1, else grey levels.
PixelValues values_of(const torch::Tensor& pixels);

}  // namespace isinglass
