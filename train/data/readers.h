// The registry of named data sets, and the functions that their readers share: finding files,
// seeded shuffles and the conversion of pixel values to levels.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/error.h"
#include "io/torch.h"
#include "train/data/dataset.h"
#include "train/data/publication.h"

namespace isinglass {

// The largest size of a data file [bytes], decompressed. The bound is needed because a small gzip
// file can expand beyond the memory of the machine.
inline constexpr size_t kLargestDataFile = size_t{1} << 31;

// A data set by name. Its functions read its folder of `data_dir` and throw Error as load_dataset()
// does.
struct DatasetEntry {
  std::string name;
  std::function<Dataset(const std::filesystem::path& data_dir)> read;
  // Returns the classes of the training images, int64 [N]; null if the set has none.
  std::function<torch::Tensor(const std::filesystem::path& data_dir)> labels = nullptr;
  bool points = false;  // only for models of continuous states
  // These are shown by `isinglass data list`: number and size of the images of the three splits,
  // their values, and the source.
  std::string sizes = "", values = "", source = "";
  std::optional<Publication> publication = std::nullopt;  // none if it cannot be downloaded
  bool built_in = false;                                  // needs no file
};

// Reports a file of a data set that is not there.
class MissingFile : public Error {
 public:
  using Error::Error;
};

// Returns the data sets of the sources that sets/list.inc names.
const std::vector<DatasetEntry>& dataset_registry();

// Makes the built-in set (sets/strokes.cpp), which needs no file.
Dataset make_strokes();

// Draws states of a standard target with binary sites and Gibbs sweeps: 2000 chains after 2000
// sweeps from random states, all of them training images (sets/target_states.cpp).
Dataset draw_target_states(const std::string& instance);

// Returns FOLDER/NAME or FOLDER/NAME.gz, whichever exists (the plain file first).
std::optional<std::filesystem::path> find_data_file(const std::filesystem::path& folder,
                                                    const std::string& name);

// Returns the same file. If there is none, throws MissingFile, which names the file, `origin` (what
// it is and who published it) and the command that downloads the data set `published`; if that is
// empty, nobody publishes the file.
std::filesystem::path need_data_file(const std::filesystem::path& folder, const std::string& name,
                                     const std::string& origin, const std::string& published);

// Throws Error unless images is [count, height, width] or [count, height·width].
void require_images(const std::filesystem::path& file, const torch::Tensor& images, int64_t count,
                    int64_t height, int64_t width);

// Throws Error unless the mean of the pixels, divided by the largest value `white`, equals that of
// the published file within 0.003. Other sets of the same shape and inverted images fail this test;
// other scans and binarisations of the same images pass it.
void require_published(const std::filesystem::path& file, const torch::Tensor& pixels,
                       int64_t white, double mean, const std::string& title);

// Returns a random order of `count` images, with seed 0 (Purpose::kSplit).
torch::Tensor shuffled_order(int64_t count);

// Shuffles the training images by shuffled_order(). The last `validation` of them become
// data.validation, and the others data.train. Both published uses of Omniglot split this way.
void split_validation(Dataset& data, const torch::Tensor& images, int64_t validation);

// Returns the height and width of images [N, H, W] or [N, D]. Flat images are taken as squares if D
// is a square number, else as a single row.
std::pair<int64_t, int64_t> image_size(const torch::Tensor& images);

// Converts real values v from 0 to 1 to uint8, round(255·v).
torch::Tensor grey_levels(const torch::Tensor& values);

// Converts the values of one published array to the uint8 pixels of Dataset. uint8 and bool keep
// their values. Real values in [0, 1] keep them if all are 0 or 1, and become grey levels
// otherwise. Throws Error for other types and values. own_images.h interprets a user's own arrays.
torch::Tensor to_pixels(const std::filesystem::path& file, const torch::Tensor& values);

// Returns kBinary if every pixel is 0 or 1, else kGrey.
PixelValues values_of(const torch::Tensor& pixels);

}  // namespace isinglass
