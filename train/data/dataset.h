// Data sets of images. One function loads all of them, from the data sets of readers.h and the file
// formats of formats/format.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/torch.h"
#include "models/energy_model.h"

namespace isinglass {

// The meaning of the pixel values of a set. Pixels are uint8 [N, H·W], row-major, with high values
// for ink (the object), or float32.
enum class PixelValues {
  kBinary,       // 0 and 1
  kGrey,         // p = value/255, binarised anew in each training iteration and once for evaluation
  kCategorical,  // 0 … categories − 1, used as states without a change
  kReal,         // float32: points, or grey levels from 0 to 1
};

struct Dataset {
  std::string name;
  torch::Tensor train, validation, test;  // empty [0, D] if the set has no such split
  // True at the missing values of `train`, which are 0 there, bool [N, D]. Undefined if no value is
  // missing.
  torch::Tensor missing = {};
  // Classes of `train`, int64 [N]. Undefined if they are not loaded; load_labels() loads them.
  torch::Tensor labels = {};
  int64_t height = 28, width = 28;
  bool flat = false;  // the images came as rows [N, D]; height and width are a guess
  PixelValues values = PixelValues::kBinary;
  int64_t categories = 2;  // number of values of categorical pixels
  std::string source;      // the file or rule that the set came from
  // The model whose states the data are, if it is known.
  std::shared_ptr<const EnergyModel> drawn_from = nullptr;

  bool dynamic() const { return values == PixelValues::kGrey; }
  int64_t white() const;     // the largest possible value of a pixel
  StateSpace space() const;  // the space of the states that the images are, or are binarised to
};

// Files of the validation and test images, if the file of training images does not hold them.
struct SplitFiles {
  std::filesystem::path validation = {}, test = {};
};

// Loads a data set. `name` is one of dataset_names(), a path to a .pt tensor or to a file of a
// known format, or a standard target (models/instances/instances.h), of which states are drawn.
// `data_dir` is the folder of option `data-dir` (with the folders mnist/, static_mnist/, caltech/,
// omniglot/, freyfaces/, histopathology/). `levels` (as for own_images) and `splits` apply only to
// files. Throws Error that names the file and what was expected, or says where users get a missing
// file.
Dataset load_dataset(const std::string& name, const std::filesystem::path& data_dir,
                     std::optional<int64_t> levels = {}, const SplitFiles& splits = {});

const std::vector<std::string>& dataset_names();

// Throws Error if values of the training images are missing; `purpose`, which needs them all, is
// the subject of the sentence.
void require_complete(const Dataset& data, const std::string& purpose);

// These are for models of continuous states. They return a float32 `train`, and with `every_split`
// other splits of this type. In as_points() images become grey levels from 0 to 1. load_points()
// takes the numbers of a file of real points [N, D] without a change, all of them as training
// points, and passes images through as_points().
Dataset as_points(Dataset images, bool every_split = false);
Dataset load_points(const std::string& name, const std::filesystem::path& data_dir,
                    const SplitFiles& splits = {}, bool every_split = false);

// load_labels() returns the classes of the training images, int64 [N] from 0, from the data set or
// from the file. Throws Error as load_dataset() does, and if the set has no classes.
torch::Tensor load_labels(const std::string& name, const std::filesystem::path& data_dir);
inline constexpr int64_t kMostClasses = 1 << 20;
// Throws Error unless the labels are whole numbers from 0 and below kMostClasses, one for each of
// the `images` images of the set `name`.
void require_labels(const torch::Tensor& labels, int64_t images, const std::string& name);

// Sets the height and width of the images. Flat images take any size with as many pixels; others
// only their own. Throws OptionError naming `image` otherwise.
void set_image_size(Dataset& data, int64_t height, int64_t width);

// Returns true if `data-dir` or Debian's package has the files of Fashion-MNIST.
bool has_fashion_mnist(const std::filesystem::path& data_dir);

// Returns the SHA-256 of the set's contents: its splits, the size of its images and the meaning of
// their values (io/sha256.h). It does not depend on the set's name or on the files that it was read
// from.
std::string data_sha256(const Dataset& data);

// Returns the copy used for likelihoods. States are unchanged. Grey levels are binarised once, with
// the split (0 train, 1 validation, 2 test) as Philox's seed, at step 0, which training iterations
// never use.
torch::Tensor binarise_once(const torch::Tensor& pixels, PixelValues values, uint64_t split);

// Returns the base distribution of independent pixels: frequencies·(1 − 2ε) + 2ε/K with ε = 1e-2
// and K values (docs/concepts/training.md). Frequencies are those of the known values, and 1/K for
// a pixel that has none. For binary pixels and grey levels it is the probability of 1, float32 [D];
// for categorical pixels it is float64 [D, K].
torch::Tensor clamped_mean(const Dataset& data);

// Smooths the frequencies of ordered values, float64 [D, K], by a Gaussian with a standard
// deviation of `sigma` values, reflected at both ends. Every row keeps its sum. Without smoothing,
// the frequencies of 256 levels from few images are noisy.
torch::Tensor smoothed(const torch::Tensor& frequencies, double sigma);

}  // namespace isinglass
