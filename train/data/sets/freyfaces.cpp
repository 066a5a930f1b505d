// Frey Faces (Roweis & Frey; Roweis, Saul & Hinton 2002): 1965 frames of one face, 28x20, with 256
// values that are used as categorical states. As in the literature (Tomczak & Welling 2018,
// Grathwohl et al. 2021), the frames, which are in the order of a video, are shuffled and split
// 1565 / 200 / 200. Here the shuffle has a fixed seed.
#include "io/error.h"
#include "train/data/formats/idx.h"
#include "train/data/formats/numpy_pickle.h"
#include "train/data/readers.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kFrames = 1965, kFreyValidation = 200, kFreyTest = 200, kHeight = 28, kWidth = 20;
constexpr const char* kFreyName = "freyfaces";  // of the set and of its folder
constexpr const char *kFreyPublished = "freyfaces.pkl",
                     *kFreyDerived = "freyfaces-images-idx3-ubyte";

Dataset read_freyfaces(const fs::path& data_dir) {
  const fs::path folder = data_dir / kFreyName;
  const bool pickled =
      find_data_file(folder, kFreyPublished) || !find_data_file(folder, kFreyDerived);
  const fs::path file =
      need_data_file(folder, pickled ? kFreyPublished : kFreyDerived,
                     "the Frey Faces of Roweis and Frey, as Tomczak and Welling distribute them "
                     "(github.com/jmtomczak/vae_vampprior)",
                     kFreyName);
  const torch::Tensor frames = pickled ? read_numpy_pickle(file) : read_idx(file);
  require_images(file, frames, kFrames, kHeight, kWidth);
  require_published(file, frames, 255, 0.605729, "the Frey Faces");
  Dataset data;
  data.height = kHeight;
  data.width = kWidth;
  data.values = PixelValues::kCategorical;
  data.categories = 256;
  split_validation(data, frames.reshape({kFrames, kHeight * kWidth}), kFreyValidation + kFreyTest);
  data.test = data.validation.narrow(0, kFreyValidation, kFreyTest);
  data.validation = data.validation.narrow(0, 0, kFreyValidation);
  data.source = fmt::format("{}: shuffled with a fixed seed, split {} / {} / {}", file.string(),
                            kFrames - kFreyValidation - kFreyTest, kFreyValidation, kFreyTest);
  return data;
}

}  // namespace

std::vector<DatasetEntry> freyfaces_datasets() {
  const Publication publication = {
      .folder = kFreyName,
      .files = {{kFreyPublished,
                 "3b69410c6a5fd6e03f09012905168be3712373a094a776f7e58fcd0670d2138a"}},
      .addresses = {"https://raw.githubusercontent.com/jmtomczak/vae_vampprior/master/datasets/"
                    "Freyfaces/",
                    "https://raw.githubusercontent.com/riannevdberg/sylvester-flows/master/data/"
                    "Freyfaces/"},
      .terms = "no licence is stated; cite Roweis, Saul and Hinton 2002 (NIPS)"};
  return {{.name = kFreyName,
           .read = read_freyfaces,
           .sizes = "1565 / 200 / 200 of 28x20",
           .values = "256 categories",
           .source = "Roweis and Frey; Roweis, Saul and Hinton 2002",
           .publication = publication}};
}

}  // namespace isinglass
