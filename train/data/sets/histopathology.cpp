// Histopathology (Tomczak & Welling 2016, arXiv 1611.09630): 28x28 grey patches of stained tissue,
// already split, with real values from 0 to 1. The pickle is published in a tar archive; it is read
// from there or unpacked. The states are the 256 levels floor(256 v) of values v clipped to [1/512,
// 1 - 1/512], as in the papers of the samplers.
#include <fmt/ranges.h>

#include <ranges>

#include "io/error.h"
#include "train/data/formats/numpy_pickle.h"
#include "train/data/readers.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHistologyName = "histopathology";  // of the set and of its folder
constexpr const char *kArchive = "histopathology.pkl.tar", *kUnpacked = "histopathology.pkl";
constexpr int64_t kHistologySide = 28, kHistologyLevels = 256;
constexpr double kClip = 1.0 / 512;
constexpr double kRounding = 1e-5;  // rounding of grey levels that were computed from colours

torch::Tensor read_split(const fs::path& file, const std::map<std::string, torch::Tensor>& arrays,
                         const std::string& name) {
  const auto found = arrays.find(name);
  require(found != arrays.end(), "{} holds {}; expected training, validation, test", file.string(),
          fmt::join(std::views::keys(arrays), ", "));
  const torch::Tensor values = found->second.reshape({found->second.size(0), -1});
  require_images(fmt::format("{}, array {}", file.string(), name), values, values.size(0),
                 kHistologySide, kHistologySide);
  const bool grey = values.is_floating_point() &&
                    ((values >= -kRounding) & (values <= 1 + kRounding)).all().item<bool>();
  require(grey, "{}, array {}, holds values that are not real numbers from 0 to 1", file.string(),
          name);
  return (kHistologyLevels * values.to(torch::kFloat64).clamp(kClip, 1 - kClip))
      .floor()
      .to(torch::kUInt8);
}

Dataset read_histopathology(const fs::path& data_dir) {
  const fs::path folder = data_dir / kHistologyName;
  const bool unpacked = find_data_file(folder, kUnpacked).has_value();
  const fs::path file = need_data_file(folder, unpacked ? kUnpacked : kArchive,
                                       "the grey histopathology patches of Tomczak and Welling "
                                       "(github.com/jmtomczak/vae_householder_flow)",
                                       kHistologyName);
  const std::map<std::string, torch::Tensor> arrays = read_numpy_dictionary(file);
  Dataset data;
  data.height = data.width = kHistologySide;
  data.values = PixelValues::kCategorical;
  data.categories = kHistologyLevels;
  data.train = read_split(file, arrays, "training");
  data.validation = read_split(file, arrays, "validation");
  data.test = read_split(file, arrays, "test");
  data.source = fmt::format("{}: split as published", file.string());
  return data;
}

}  // namespace

std::vector<DatasetEntry> histopathology_datasets() {
  const Publication publication = {
      .folder = kHistologyName,
      .files = {{"histopathology.pkl.tar.gz", "40e100f65969106cbcf3c0f6f29e70e8e7e14fe3"}},
      .addresses = {"https://raw.githubusercontent.com/jmtomczak/vae_householder_flow/master/"
                    "datasets/histopathologyGray/",
                    "https://github.com/jmtomczak/vae_householder_flow/raw/master/datasets/"
                    "histopathologyGray/"},
      .terms = "no licence is stated; cite Tomczak and Welling 2016 (arXiv 1611.09630)"};
  return {{.name = kHistologyName,
           .read = read_histopathology,
           .sizes = "split as published, 28x28",
           .values = "256 categories",
           .source = "Tomczak and Welling 2016",
           .publication = publication}};
}

}  // namespace isinglass
