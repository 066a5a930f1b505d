// The readers behind load_dataset, one a data set, and what they share: where files are looked for,
// seeded shuffles and the reduction of pixel values to levels.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "io/torch.h"
#include "train/data/dataset.h"

namespace isinglass {

// Bound on the size of a data file, decompressed: a small gzip file can hold far more than a
// machine.
inline constexpr size_t kLargestDataFile = size_t{1} << 31;

// Each reads its folder of `data_dir` and throws Error as load_dataset.
Dataset read_mnist(const std::filesystem::path& data_dir);
Dataset read_fashion_mnist(const std::filesystem::path& data_dir);
Dataset read_static_mnist(const std::filesystem::path& data_dir);
Dataset read_omniglot(const std::filesystem::path& data_dir);
Dataset read_omniglot_standin(const std::filesystem::path& data_dir);
Dataset read_caltech(const std::filesystem::path& data_dir);

// Classes of the training images, int64 [N].
torch::Tensor read_mnist_labels(const std::filesystem::path& data_dir);
torch::Tensor read_fashion_mnist_labels(const std::filesystem::path& data_dir);

// The built-in set (strokes.cpp): no file.
Dataset make_strokes();
torch::Tensor stroke_labels();

// The built-in points of the plane (points.cpp).
Dataset make_ring_points();
Dataset make_strip_points();

// A user's own images: a .pt tensor or an IDX file, shuffled with a fixed seed and split 80/10/10.
Dataset read_own_images(const std::filesystem::path& file);

// FOLDER/NAME or FOLDER/NAME.gz, whichever exists (the plain file first).
std::optional<std::filesystem::path> find_data_file(const std::filesystem::path& folder,
                                                    const std::string& name);

// The same; an Error that names the missing file and `origin` (what it is and who published it).
std::filesystem::path need_data_file(const std::filesystem::path& folder, const std::string& name,
                                     const std::string& origin);

// Throws Error unless images is [count, height, width] or [count, height·width].
void require_images(const std::filesystem::path& file, const torch::Tensor& images, int64_t count,
                    int64_t height, int64_t width);

// The training images shuffled with seed 0 (Purpose::kSplit): the last `validation` of them become
// data.validation, the rest data.train. Both published uses of Omniglot split so.
void split_validation(Dataset& data, const torch::Tensor& images, int64_t validation);

// Pixel values as the uint8 of Dataset: uint8 and bool as they are; real values in [0, 1] as they
// are where all are 0 or 1, else as grey levels round(255·v). Throws Error for other types and
// values.
torch::Tensor to_pixels(const std::filesystem::path& file, const torch::Tensor& values);

// 2 where every pixel is 0 or 1, else 256.
int64_t levels_of(const torch::Tensor& pixels);

}  // namespace isinglass
