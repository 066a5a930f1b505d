// A user's own images and points, in memory or from files: what the values of all splits together
// mean, how large the images are and which of them train. Every way in which they come ends here.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "io/pt/pt_file.h"
#include "io/torch.h"
#include "train/data/dataset.h"

namespace isinglass {

struct OwnArray {
  std::string name = {};      // the subject of errors: a file, "the tensor"
  torch::Tensor values = {};  // undefined or without images: there is none

  bool given() const { return values.defined() && values.numel() > 0; }
};

// Either all images in one array, or splits.
struct OwnArrays {
  OwnArray whole = {}, train = {}, validation = {}, test = {};
  torch::Tensor labels = {};  // the classes of `whole`, or of `train`; undefined: they have none
};

// By their names: train, validation and test under these and other common names, with labels; or
// one array of any name, with labels. `source`, a file, stands for them in errors. Throws Error for
// others.
OwnArrays arrays_named(const NamedTensors& arrays, const std::string& source);

// The arrays of a .pt file or of a known format (formats/format.h); further files are its
// validation and test images, where they are named. Throws Error that names the file.
OwnArrays read_own_arrays(const std::filesystem::path& file, const SplitFiles& splits = {});

// Images [N, D], [N, H, W] or [N, 1, H, W] of one size: bool, whole numbers of any type, or real
// ones. Over all splits they are binary (0 and 1), grey levels (whole numbers to 255, or real ones
// from 0 to 1), or, where `levels` is given, categories: whole numbers below it. One array is
// shuffled with a fixed seed and split 80/10/10, its labels alike. Throws Error for what is none of
// these or could be two.
Dataset own_images(const OwnArrays& arrays, const std::string& name,
                   std::optional<int64_t> levels = {});

// D of the training images.
int64_t sites_of(const OwnArrays& arrays);

// Returns whether all arrays are real [N, D], which score matching and classifiers take as points.
bool are_points(const OwnArrays& arrays);
// Returns points as they are: one array trains as a whole.
Dataset own_points(const OwnArrays& arrays, const std::string& name);

}  // namespace isinglass
