// A user's own images and points, in memory or from files. This file determines what the values of
// all splits together mean, how large the images are and which of them are training images. All
// ways of passing one's own data end here.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "io/pt/pt_file.h"
#include "io/torch.h"
#include "train/data/dataset.h"

namespace isinglass {

struct OwnArray {
  std::string name = {};      // subject of error messages: a file, "the tensor"
  torch::Tensor values = {};  // undefined or empty if there is none

  bool given() const { return values.defined() && values.numel() > 0; }
};

// Holds either all images in one array, or the splits.
struct OwnArrays {
  OwnArray whole = {}, train = {}, validation = {}, test = {};
  // Classes of `whole` or of `train`; undefined if there are none.
  torch::Tensor labels = {};
};

// Sorts arrays into splits by their names: train, validation and test under these and other common
// names, with labels; or one array of any name, with labels. `source`, a file, stands for the
// arrays in error messages. Throws Error for other sets of arrays.
OwnArrays arrays_named(const NamedTensors& arrays, const std::string& source);

// Reads the arrays of a .pt file or of a known format (formats/format.h). `splits` names further
// files with validation and test images, if there are any. Throws Error that names the file.
OwnArrays read_own_arrays(const std::filesystem::path& file, const SplitFiles& splits = {});

// Makes a data set of images [N, D], [N, H, W] or [N, 1, H, W] of one size, whose values are bool,
// whole numbers of any type, or real. Over all splits the values are binary (0 and 1), grey levels
// (whole numbers up to 255, or real numbers from 0 to 1), or, if `levels` is given, categories:
// whole numbers below it. A single array is shuffled with a fixed seed and split 80/10/10, together
// with its labels. NaN marks a missing value (Dataset::missing) of a training image; a single array
// with missing values is used for training as a whole. Throws Error for values that are none of
// these or that are ambiguous, and for missing values of other images.
Dataset own_images(const OwnArrays& arrays, const std::string& name,
                   std::optional<int64_t> levels = {});

// Returns D of the training images.
int64_t sites_of(const OwnArrays& arrays);

// Returns true if all arrays are real [N, D], which score matching and classifiers take as points.
bool are_points(const OwnArrays& arrays);
// Makes a data set of points without a change of their values. A single array is used for training
// as a whole.
Dataset own_points(const OwnArrays& arrays, const std::string& name);

}  // namespace isinglass
