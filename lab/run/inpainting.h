// Inpainting: images of which some pixels are missing, and are sampled given the others.
#pragma once

#include <optional>
#include <string>

#include "io/torch.h"
#include "lab/spec/spec.h"
#include "train/data/dataset.h"

namespace isinglass {

// Returns which pixels are missing, bool [H·W]. mask: one of mask_names(), or a file whose pixels
// other than 0 (black) are missing: a PNG picture or a tensor [H, W] or [H·W]. `random` leaves out
// every other pixel on average, and depends on the seed.
// Throws Error if the file does not fit or if no pixel or every pixel is missing.
torch::Tensor missing_pixels(const std::string& mask, const ImageSize& image, int64_t seed);

// Returns the mask with the path of a file made absolute.
std::string absolute_mask(const std::string& mask);

struct Inpainting {
  torch::Tensor images;   // [N, D], as states
  torch::Tensor missing;  // bool [D]
  int64_t height, width;
  double white = 1;  // the largest value of a pixel

  // Returns the values of fixed sites (models/conditional/fixed_sites.h) for N·n chains, n of each
  // image.
  torch::Tensor fixed_values() const;
  static constexpr int64_t kDrawn = 6;  // at most so many draws of an image are shown
  // Returns a row of pictures for each image from `first` on, grey levels from 0 to 1, float32 [n,
  // draws + 3, D]: the image, the same with grey in place of what is missing, some draws [n, draws,
  // D], and the mean of all draws [n, D].
  torch::Tensor rows(int64_t first, const torch::Tensor& draws, const torch::Tensor& mean) const;
  std::string png(const torch::Tensor& rows) const;  // Returns the PNG file of such rows.
  // Returns the PNG file for draws of all images, [draws, chains, D]: the rows have the last draws
  // of some chains.
  std::string picture(const torch::Tensor& samples) const;
};

// Returns the inpainting of the first `count` test images (training images if there are none), by
// default kDefaultImages or as many as there are.
// Throws Error, which names the options `inpaint` and `inpaint-images`, for what does not fit.
Inpainting inpainting_of(const Dataset& data, const StateSpace& space, const std::string& mask,
                         const std::optional<int64_t>& count, int64_t seed);

}  // namespace isinglass
