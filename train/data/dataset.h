// Data sets of images: one loader for all, from the data sets of readers.h and the file formats of
// formats/format.h.
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

// What the pixels of a set are, uint8 [N, H·W] row-major with ink (object) high, or float32.
enum class PixelValues {
  kBinary,       // 0 and 1
  kGrey,         // p = value/255, to be binarised: dynamically in training, once for evaluation
  kCategorical,  // 0 … categories − 1: states as they are
  kReal,         // float32: points, or grey levels from 0 to 1
};

struct Dataset {
  std::string name;
  torch::Tensor train, validation, test;  // empty [0, D] where the set has no such split
  torch::Tensor labels = {};  // classes of `train`, int64 [N]; undefined: see load_labels
  int64_t height = 28, width = 28;
  bool flat = false;  // the images came as rows [N, D]: height and width are a guess
  PixelValues values = PixelValues::kBinary;
  int64_t categories = 2;  // of categorical pixels
  std::string source;      // the file or rule it came from
  std::shared_ptr<const EnergyModel> drawn_from =
      nullptr;  // whose states they are, where it is known

  bool dynamic() const { return values == PixelValues::kGrey; }
  int64_t white() const;     // the largest value of a pixel
  StateSpace space() const;  // of the states that the images are, or are binarised to
};

// Images that a file does not hold itself.
struct SplitFiles {
  std::filesystem::path validation = {}, test = {};
};

// NAME is one of dataset_names(), a path to a .pt tensor or to a file of a known format, or a
// standard target (models/instances/instances.h), of which states are drawn. `data_dir` as in
// `data-dir` (its folders: mnist/, static_mnist/, caltech/, omniglot/, freyfaces/,
// histopathology/). Throws Error that names the file and what was expected, or where users get a
// missing one. `levels` (as of own_images) and further splits are of a file alone.
Dataset load_dataset(const std::string& name, const std::filesystem::path& data_dir,
                     std::optional<int64_t> levels = {}, const SplitFiles& splits = {});

const std::vector<std::string>& dataset_names();

// The same for models of continuous states, with a float32 `train`: the numbers of a file of real
// points [N, D] as they are, all of them; of images as_points().
Dataset as_points(Dataset images);  // with training images of grey levels from 0 to 1
Dataset load_points(const std::string& name, const std::filesystem::path& data_dir,
                    const SplitFiles& splits = {});

// The classes of the training images, int64 [N] from 0: a data set's, or those that its file holds.
// Throws Error as load_dataset, and if the set has none.
torch::Tensor load_labels(const std::string& name, const std::filesystem::path& data_dir);
// Throws Error unless they are so, one of each of the images of `name`.
void require_labels(const torch::Tensor& labels, int64_t images, const std::string& name);

// The images of this height and width, which is theirs or, of flat ones, gives as many pixels.
// Throws OptionError naming `image` otherwise.
void set_image_size(Dataset& data, int64_t height, int64_t width);

// Whether `data-dir`, or Debian's package, has the files of Fashion-MNIST.
bool has_fashion_mnist(const std::filesystem::path& data_dir);

// SHA-256 of what the set holds: its splits, the size of its images and what their values are
// (io/sha256.h). Not of its name, nor of the files that it was read from.
std::string data_sha256(const Dataset& data);

// The copy used for likelihoods: states as they are, grey levels binarised once: Philox with the
// split (0 train, 1 validation, 2 test) as its seed, at step 0, which training iterations never
// use.
torch::Tensor binarise_once(const torch::Tensor& pixels, PixelValues values, uint64_t split);

// The base distribution of independent pixels: frequencies·(1 − 2ε) + 2ε/K with ε = 1e-2 and K
// values (docs/concepts/training.md). Of binary ones and grey levels those of 1, float32 [D]; of
// categorical ones float64 [D, K].
torch::Tensor clamped_mean(const Dataset& data);

// Frequencies float64 [D, K] of ordered values, spread by a Gaussian of `sigma` values, reflected
// at both ends; every row keeps its sum. Of few images, frequencies of 256 levels are noisy.
torch::Tensor smoothed(const torch::Tensor& frequencies, double sigma);

}  // namespace isinglass
