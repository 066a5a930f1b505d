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

constexpr int64_t kFrames = 1965, kValidation = 200, kTest = 200, kHeight = 28, kWidth = 20;
constexpr const char* kPublished = "freyfaces.pkl";

Dataset read_freyfaces(const fs::path& data_dir) {
  const fs::path folder = data_dir / "freyfaces", published = folder / kPublished;
  const bool pickled = fs::exists(fs::status(published));
  const fs::path file =
      pickled
          ? published
          : need_data_file(folder, "freyfaces-images-idx3-ubyte",
                           fmt::format("the Frey Faces of Roweis and Frey, derived from {} as "
                                       "Tomczak and Welling distribute it "
                                       "(github.com/jmtomczak/vae_vampprior), which serves as well",
                                       kPublished));
  const torch::Tensor frames = pickled ? read_numpy_pickle(file) : read_idx(file);
  require_images(file, frames, kFrames, kHeight, kWidth);
  require_published(file, frames, 255, 0.605729, "the Frey Faces");
  Dataset data;
  data.height = kHeight;
  data.width = kWidth;
  data.values = PixelValues::kCategorical;
  data.categories = 256;
  split_validation(data, frames.reshape({kFrames, kHeight * kWidth}), kValidation + kTest);
  data.test = data.validation.narrow(0, kValidation, kTest);
  data.validation = data.validation.narrow(0, 0, kValidation);
  data.source = fmt::format("{}: shuffled with a fixed seed, split {} / {} / {}", file.string(),
                            kFrames - kValidation - kTest, kValidation, kTest);
  return data;
}

}  // namespace

std::vector<DatasetEntry> freyfaces_datasets() {
  return {{"freyfaces", read_freyfaces}};
}

}  // namespace isinglass
