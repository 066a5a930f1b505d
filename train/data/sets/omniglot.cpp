// Omniglot (Lake, Salakhutdinov & Tenenbaum 2015) at 28x28 grey levels, from which pixels are drawn
// ("dynamic" binarisation). `omniglot` is chardata.mat of Burda, Grosse & Salakhutdinov (2016), on
// which published likelihoods are reported. `omniglot-standin` is resampled from the 105x105 images
// and not comparable with published results. Both shuffle the training images and use the last 1345
// as validation images.
#include "io/error.h"
#include "train/data/formats/idx.h"
#include "train/data/formats/mat_file.h"
#include "train/data/readers.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kOmniglotTrain = 24345, kOmniglotValidation = 1345, kOmniglotSide = 28;
constexpr int64_t kOmniglotTest = 8070, kStandinTest = 8115;

torch::Tensor read_chardata(const fs::path& file, const std::string& array, int64_t count) {
  const torch::Tensor images = mat_images(file, read_mat_array(file, array), kOmniglotSide);
  require_images(fmt::format("{}, array {}", file.string(), array), images, count, kOmniglotSide,
                 kOmniglotSide);
  // to_pixels() would keep binary values as 0 and 1, but these are always grey levels.
  const torch::Tensor pixels = to_pixels(file, images);
  return values_of(pixels) == PixelValues::kBinary ? pixels * 255 : pixels;
}

torch::Tensor read_standin(const fs::path& folder, const std::string& name, int64_t count,
                           double mean) {
  const fs::path file = need_data_file(
      folder, name,
      "the 28x28 stand-in derived from the images of Omniglot by Lake, Salakhutdinov "
      "and Tenenbaum (github.com/brendenlake/omniglot)",
      "");
  const torch::Tensor images = read_idx(file);
  require_images(file, images, count, kOmniglotSide, kOmniglotSide);
  require_published(file, images, 255, mean, "the stand-in of Omniglot");
  return images.view({count, kOmniglotSide * kOmniglotSide});
}

Dataset read_omniglot(const fs::path& data_dir) {
  const fs::path file = need_data_file(
      data_dir / "omniglot", "chardata.mat",
      "the 28x28 Omniglot published with \"Importance Weighted Autoencoders\" (Burda, Grosse and "
      "Salakhutdinov 2016, github.com/yburda/iwae; the derived set is omniglot-standin)",
      "omniglot");
  Dataset data;
  data.values = PixelValues::kGrey;
  data.test = read_chardata(file, "testdata", kOmniglotTest);
  split_validation(data, read_chardata(file, "data", kOmniglotTrain), kOmniglotValidation);
  data.source = fmt::format("{}: validation = the last {} of the shuffled training images",
                            file.string(), kOmniglotValidation);
  return data;
}

Dataset read_omniglot_standin(const fs::path& data_dir) {
  const fs::path folder = data_dir / "omniglot";
  Dataset data;
  data.values = PixelValues::kGrey;
  data.test =
      read_standin(folder, "omniglot28-standin-test-images-idx3-ubyte", kStandinTest, 0.079782);
  split_validation(
      data,
      read_standin(folder, "omniglot28-standin-train-images-idx3-ubyte", kOmniglotTrain, 0.080758),
      kOmniglotValidation);
  data.source = fmt::format(
      "{}: stand-in, not comparable with published Omniglot; validation = the last {} of the "
      "shuffled training images",
      folder.string(), kOmniglotValidation);
  return data;
}

}  // namespace

std::vector<DatasetEntry> omniglot_datasets() {
  const Publication chardata = {
      .folder = "omniglot",
      .files = {{"chardata.mat", "016a3536ffe5e1d38e42563a18d7a78bfaf643ec"}},
      .addresses = {"https://raw.githubusercontent.com/yburda/iwae/master/datasets/OMNIGLOT/",
                    "https://github.com/yburda/iwae/raw/master/datasets/OMNIGLOT/"},
      .terms =
          "made from Omniglot, whose licence is MIT; cite Burda, Grosse and Salakhutdinov 2016 "
          "(ICLR) and Lake, Salakhutdinov and Tenenbaum 2015 (Science)"};
  return {{.name = "omniglot",
           .read = read_omniglot,
           .sizes = "23000 / 1345 / 8070 of 28x28",
           .values = "grey levels",
           .source = "Burda, Grosse and Salakhutdinov 2016",
           .publication = chardata},
          {.name = "omniglot-standin",
           .read = read_omniglot_standin,
           .sizes = "23000 / 1345 / 8115 of 28x28",
           .values = "grey levels",
           .source = "resampled from Lake, Salakhutdinov and Tenenbaum 2015; not published"}};
}

}  // namespace isinglass
