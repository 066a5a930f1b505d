// Reads a folder of PNG images of one size, in the order of their names. Other files in it are
// ignored. A run directory, which holds pictures of its own, is not taken for such a folder. Images
// that are only black and white are binary.
#include <algorithm>
#include <vector>

#include "io/error.h"
#include "io/picture.h"
#include "train/data/formats/format.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> images_of(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string ending = entry.path().extension().string();
    if (ending == ".png" || ending == ".PNG") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool holds_run(const fs::path& folder) {
  for (const char* name :
       {"config.toml", "metrics.jsonl", "summary.json", "ais.json", "results.json"}) {
    if (fs::exists(fs::status(folder / name))) return true;
  }
  return false;
}

// Returns the images [N, H, W]: bool, true for white, if every pixel is black or white, and
// otherwise grey levels, uint8 up to 255.
torch::Tensor read_png_folder(const fs::path& folder) {
  const std::vector<fs::path> files = images_of(folder);
  torch::Tensor images;
  for (size_t n = 0; n < files.size(); ++n) {
    const torch::Tensor image = read_png(files[n]);
    if (n == 0) {
      images = torch::empty({static_cast<int64_t>(files.size()), image.size(0), image.size(1)},
                            torch::kUInt8);
    }
    require(image.sizes() == images[0].sizes(),
            "{} has {}x{} pixels, but {} has {}x{}; all images of a folder must have the same size",
            files[n].string(), image.size(0), image.size(1), files[0].filename().string(),
            images.size(1), images.size(2));
    images[static_cast<int64_t>(n)].copy_(image);
  }
  const bool binary = ((images == 0) | (images == 255)).all().item<bool>();
  return binary ? images.eq(255) : images;
}

}  // namespace

std::vector<DataFormat> png_folder_formats() {
  const auto recognises = [](const fs::path& folder, const std::string&) {
    return fs::is_directory(fs::status(folder)) && !holds_run(folder) && !images_of(folder).empty();
  };
  return {{"a folder of PNG images", recognises, read_png_folder}};
}

}  // namespace isinglass
