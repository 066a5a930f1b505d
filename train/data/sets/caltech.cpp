// Caltech 101 Silhouettes (Marlin, Swersky, Chen & de Freitas 2010), 28x28, split 1: 4100 / 2264 /
// 2307 binary images. The published .mat file stores 0 for the object and the images column-major.
// In the literature, in the derived IDX files and after this reader, the object is 1 and the images
// are row-major.
#include "io/error.h"
#include "train/data/formats/idx.h"
#include "train/data/formats/mat_file.h"
#include "train/data/readers.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kCaltechSide = 28;
constexpr const char* kCaltechName = "caltech";  // of the set and of its folder
constexpr const char* kCaltechPublished = "caltech101_silhouettes_28_split1.mat";

struct Split {
  const char *array, *file;  // name in the published file, in the derived files
  int64_t count;
  double mean;  // mean of its pixels, object = 1
};

constexpr Split kCaltechTrain = {"train_data", "train", 4100, 0.448945},
                kCaltechValidation = {"val_data", "val", 2264, 0.464041},
                kCaltechTest = {"test_data", "test", 2307, 0.460985};

std::string derived_name(const Split& split) {
  return fmt::format("caltech28-split1-{}-images-idx3-ubyte", split.file);
}

void require_published_split(const fs::path& file, const torch::Tensor& pixels,
                             const Split& split) {
  isinglass::require_published(file, pixels, 1, split.mean,
                               fmt::format("the {} silhouettes of Caltech 101", split.file));
}

void require_binary(const fs::path& file, const torch::Tensor& pixels) {
  require(values_of(pixels) == PixelValues::kBinary,
          "{} holds values other than 0 and 1; silhouettes are binary", file.string());
}

torch::Tensor read_split1(const fs::path& file, const Split& split) {
  const torch::Tensor images = mat_images(file, read_mat_array(file, split.array), kCaltechSide);
  const fs::path array = fmt::format("{}, array {}", file.string(), split.array);
  require_images(array, images, split.count, kCaltechSide, kCaltechSide);
  const torch::Tensor pixels = to_pixels(file, images);
  require_binary(file, pixels);
  const torch::Tensor objects = 1 - pixels;
  require_published_split(array, objects, split);
  return objects;
}

torch::Tensor read_derived(const fs::path& folder, const Split& split) {
  const fs::path file = need_data_file(
      folder, derived_name(split),
      fmt::format("the set derived from {}, which serves as well", kCaltechPublished),
      kCaltechName);
  const torch::Tensor images = read_idx(file);
  require_images(file, images, split.count, kCaltechSide, kCaltechSide);
  require_binary(file, images);
  require_published_split(file, images, split);
  return images.view({split.count, kCaltechSide * kCaltechSide});
}

Dataset read_caltech(const fs::path& data_dir) {
  const fs::path folder = data_dir / kCaltechName;
  Dataset data;
  if (!find_data_file(folder, derived_name(kCaltechTrain)) ||
      find_data_file(folder, kCaltechPublished)) {
    const fs::path published =
        need_data_file(folder, kCaltechPublished,
                       "the Caltech 101 Silhouettes by Marlin, Swersky, Chen and de Freitas "
                       "(people.cs.umass.edu/~marlin/data.shtml)",
                       kCaltechName);
    data.train = read_split1(published, kCaltechTrain);
    data.validation = read_split1(published, kCaltechValidation);
    data.test = read_split1(published, kCaltechTest);
    data.source = fmt::format("{}: split 1, inverted (object = 1)", published.string());
  } else {
    data.train = read_derived(folder, kCaltechTrain);
    data.validation = read_derived(folder, kCaltechValidation);
    data.test = read_derived(folder, kCaltechTest);
    data.source = fmt::format("{}: split 1, derived IDX files", folder.string());
  }
  return data;
}

}  // namespace

std::vector<DatasetEntry> caltech_datasets() {
  const Publication publication = {
      .folder = kCaltechName,
      .files = {{kCaltechPublished,
                 "eb6735e8d84b1850fabc5590124aab1755e90c9fd28123585324398405e1e42a"}},
      .addresses = {"https://people.cs.umass.edu/~marlin/data/",
                    "http://people.cs.umass.edu/~marlin/data/"},
      .terms =
          "no licence is stated (the photographs' is CC BY 4.0); cite Marlin, Swersky, Chen and "
          "de Freitas 2010 (AISTATS)"};
  return {{.name = kCaltechName,
           .read = read_caltech,
           .sizes = "4100 / 2264 / 2307 of 28x28",
           .values = "binary",
           .source = "Marlin, Swersky, Chen and de Freitas 2010",
           .publication = publication}};
}

}  // namespace isinglass
