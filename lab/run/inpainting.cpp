// Implements inpainting.
#include "lab/run/inpainting.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "io/error.h"
#include "io/picture.h"
#include "kernels/random/philox.h"
#include "train/data/formats/format.h"

namespace isinglass {
namespace {

torch::Tensor mask_in_file(const std::string& file, const ImageSize& image) {
  const bool png = std::filesystem::path(file).extension() == ".png";
  const torch::Tensor mask = png ? read_png(file) : read_array(file);
  const int64_t height = image.height, width = image.width;
  const bool fits = mask.dim() == 2 ? mask.size(0) == height && mask.size(1) == width
                                    : mask.dim() == 1 && mask.size(0) == height * width;
  require(fits, "the mask {} has the shape [{}], but the images have {} x {} pixels", file,
          fmt::join(mask.sizes().vec(), ", "), height, width);
  return mask.flatten().ne(0);
}

}  // namespace

const std::vector<std::string>& mask_names() {
  static const std::vector<std::string> names = {"upper", "lower", "left", "right", "random"};
  return names;
}

std::string absolute_mask(const std::string& mask) {
  const auto& names = mask_names();
  const bool named = std::find(names.begin(), names.end(), mask) != names.end();
  require_options(named || std::filesystem::exists(mask),
                  "`inpaint` is '{}', which is neither one of {} nor a file", mask,
                  fmt::join(names, ", "));
  return named ? mask : std::filesystem::absolute(mask).string();
}

torch::Tensor missing_pixels(const std::string& mask, const ImageSize& image, int64_t seed) {
  const int64_t height = image.height, width = image.width;
  torch::Tensor missing = torch::zeros({height, width}, torch::kBool);
  if (mask == "upper") {
    missing.narrow(0, 0, height / 2).fill_(true);
  } else if (mask == "lower") {
    missing.narrow(0, height / 2, height - height / 2).fill_(true);
  } else if (mask == "left") {
    missing.narrow(1, 0, width / 2).fill_(true);
  } else if (mask == "right") {
    missing.narrow(1, width / 2, width - width / 2).fill_(true);
  } else if (mask == "random") {
    missing = missing.flatten();
    for (int64_t i = 0; i < missing.numel(); ++i) {
      const PhiloxStream draws{static_cast<uint64_t>(seed), static_cast<uint32_t>(i), 0};
      missing[i] = draws.below(2, Purpose::kDataInit) == 0;
    }
  } else {
    missing = mask_in_file(mask, image);
  }
  missing = missing.flatten();
  const int64_t count = missing.sum().item<int64_t>();
  require_options(
      count > 0 && count < missing.numel(),
      "`inpaint` {} leaves {} of {} pixels missing, so that there is nothing to inpaint", mask,
      count, missing.numel());
  return missing;
}

Inpainting inpainting_of(const Dataset& data, const StateSpace& space, const std::string& mask,
                         const std::optional<int64_t>& count, int64_t seed) {
  const bool test = data.test.size(0) > 0;
  if (!test) require_complete(data, "`inpaint` without test images");
  const torch::Tensor& all = test ? data.test : data.train;
  require_options(!count || *count <= all.size(0),
                  "`inpaint-images` is {}, but {} has {} {} images", count.value_or(0), data.name,
                  all.size(0), test ? "test" : "training");
  const torch::Tensor first = all.slice(0, 0, count.value_or(kDefaultImages));
  const torch::Tensor images = space.discrete() ? binarise_once(first, data.values, test ? 2 : 0)
                               : first.is_floating_point()
                                   ? first
                                   : first.to(torch::kFloat32) / static_cast<double>(data.white());
  check_states(space, images, "the images of " + data.name);
  return {images, missing_pixels(mask, {data.height, data.width}, seed), data.height, data.width,
          space.discrete() ? static_cast<double>(space.categories - 1) : 1.0};
}

torch::Tensor Inpainting::fixed_values() const {
  return images.is_floating_point() ? images.masked_fill(missing, std::nan(""))
                                    : images.to(torch::kInt64).masked_fill(missing, -1);
}

torch::Tensor Inpainting::rows(int64_t first, const torch::Tensor& draws,
                               const torch::Tensor& mean) const {
  const auto grey = [&](const torch::Tensor& states) {
    return (states.to(torch::kFloat32) / white).clamp(0, 1);
  };
  const torch::Tensor known = grey(images.narrow(0, first, draws.size(0)));
  return torch::cat({known.unsqueeze(1), known.masked_fill(missing, 0.5).unsqueeze(1), grey(draws),
                     grey(mean).unsqueeze(1)},
                    1);
}

std::string Inpainting::png(const torch::Tensor& rows) const {
  return picture_grid(rows.reshape({-1, rows.size(2)}), height, width, rows.size(1));
}

std::string Inpainting::picture(const torch::Tensor& samples) const {
  const int64_t count = images.size(0), each = samples.size(1) / count, sites = images.size(1);
  const torch::Tensor last = samples[samples.size(0) - 1].view({count, each, sites});
  const torch::Tensor mean =
      (samples.sum(0, false, torch::kFloat32) / samples.size(0)).view({count, each, sites}).mean(1);
  return png(rows(0, last.narrow(1, 0, std::min(each, kDrawn)), mean));
}

}  // namespace isinglass
