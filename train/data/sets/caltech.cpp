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

constexpr int64_t kSide = 28;
constexpr const char* kName = "caltech";  // of the set and of its folder
constexpr const char* kPublished = "caltech101_silhouettes_28_split1.mat";

struct Split {
  const char *array, *file;  // name in the published file, in the derived files
  int64_t count;
  double mean;  // mean of its pixels, object = 1
};

constexpr Split kTrain = {"train_data", "train", 4100, 0.448945},
                kValidation = {"val_data", "val", 2264, 0.464041},
                kTest = {"test_data", "test", 2307, 0.460985};

std::string derived_name(const Split& split) {
  return fmt::format("caltech28-split1-{}-images-idx3-ubyte", split.file);
}

void require_published(const fs::path& file, const torch::Tensor& pixels, const Split& split) {
  isinglass::require_published(file, pixels, 1, split.mean,
                               fmt::format("the {} silhouettes of Caltech 101", split.file));
}

void require_binary(const fs::path& file, const torch::Tensor& pixels) {
  require(values_of(pixels) == PixelValues::kBinary,
          "{} holds values other than 0 and 1; silhouettes are binary", file.string());
}

torch::Tensor read_split1(const fs::path& file, const Split& split) {
  const torch::Tensor images = mat_images(file, read_mat_array(file, split.array), kSide);
  const fs::path array = fmt::format("{}, array {}", file.string(), split.array);
  require_images(array, images, split.count, kSide, kSide);
  const torch::Tensor pixels = to_pixels(file, images);
  require_binary(file, pixels);
  const torch::Tensor objects = 1 - pixels;
  require_published(array, objects, split);
  return objects;
}

torch::Tensor read_derived(const fs::path& folder, const Split& split) {
  const fs::path file = need_data_file(
      folder, derived_name(split),
      fmt::format("the set derived from {}, which serves as well", kPublished), kName);
  const torch::Tensor images = read_idx(file);
  require_images(file, images, split.count, kSide, kSide);
  require_binary(file, images);
  require_published(file, images, split);
  return images.view({split.count, kSide * kSide});
}

Dataset read_caltech(const fs::path& data_dir) {
  const fs::path folder = data_dir / kName;
  Dataset data;
  if (!find_data_file(folder, derived_name(kTrain)) || find_data_file(folder, kPublished)) {
    const fs::path published =
        need_data_file(folder, kPublished,
                       "the Caltech 101 Silhouettes by Marlin, Swersky, Chen and de Freitas "
                       "(people.cs.umass.edu/~marlin/data.shtml)",
                       kName);
    data.train = read_split1(published, kTrain);
    data.validation = read_split1(published, kValidation);
    data.test = read_split1(published, kTest);
    data.source = fmt::format("{}: split 1, inverted (object = 1)", published.string());
  } else {
    data.train = read_derived(folder, kTrain);
    data.validation = read_derived(folder, kValidation);
    data.test = read_derived(folder, kTest);
    data.source = fmt::format("{}: split 1, derived IDX files", folder.string());
  }
  return data;
}

}  // namespace

std::vector<DatasetEntry> caltech_datasets() {
  const Publication publication = {
      .folder = kName,
      .files = {{kPublished, "eb6735e8d84b1850fabc5590124aab1755e90c9fd28123585324398405e1e42a"}},
      .addresses = {"https://people.cs.umass.edu/~marlin/data/",
                    "http://people.cs.umass.edu/~marlin/data/"},
      .terms =
          "no licence is stated (the photographs' is CC BY 4.0); cite Marlin, Swersky, Chen and "
          "de Freitas 2010 (AISTATS)"};
  return {{.name = kName,
           .read = read_caltech,
           .sizes = "4100 / 2264 / 2307 of 28x28",
           .values = "binary",
           .source = "Marlin, Swersky, Chen and de Freitas 2010",
           .publication = publication}};
}

}  // namespace isinglass
