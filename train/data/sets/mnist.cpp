// MNIST (LeCun, Bottou, Bengio & Haffner 1998), and Fashion-MNIST (Xiao, Rasul & Vollgraf 2017) in
// files of the same names and sizes. Images are 28x28 grey levels: 50 000 training images, the last
// 10 000 of the training file as validation images, and 10 000 test images. Pixels are drawn from
// Bernoulli(v/255) ("dynamic" binarisation). Static MNIST (Salakhutdinov & Murray 2008; Larochelle
// & Murray 2011) was binarised once by its authors and comes in three files.
#include "io/error.h"
#include "train/data/formats/amat.h"
#include "train/data/formats/idx.h"
#include "train/data/readers.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kTrain = 50000, kValidation = 10000, kTest = 10000, kSide = 28;

struct MnistFiles {
  const char *folder, *title, *origin;
  double train, test;              // means of the pixels
  const char* packaged = nullptr;  // folder of Debian's package
};

constexpr MnistFiles kMnist = {
    "mnist", "MNIST", "MNIST by LeCun, Cortes and Burges, published at yann.lecun.com/exdb/mnist",
    0.13066, 0.13251};
constexpr MnistFiles kFashion = {
    "fashion_mnist",
    "Fashion-MNIST",
    "Fashion-MNIST by Xiao, Rasul and Vollgraf, published at github.com/zalandoresearch (Debian: "
    "dataset-fashion-mnist)",
    0.28604,
    0.28685,
    "/usr/share/datasets/fashion-mnist"};
constexpr const char* kTrainImages = "train-images-idx3-ubyte";

// Returns the set's folder in the data folder, or that of Debian's package if the former has no
// files.
fs::path folder_of(const fs::path& data_dir, const MnistFiles& files) {
  fs::path own = data_dir / files.folder;
  if (!files.packaged || find_data_file(own, kTrainImages)) return own;
  return find_data_file(files.packaged, kTrainImages) ? fs::path(files.packaged) : own;
}

torch::Tensor read_mnist_images(const fs::path& data_dir, const MnistFiles& files,
                                const std::string& name, int64_t count, double mean) {
  const fs::path file = need_data_file(folder_of(data_dir, files), name, files.origin);
  const torch::Tensor images = read_idx(file);
  require_images(file, images, count, kSide, kSide);
  require_published(file, images, 255, mean, files.title);
  return images.view({count, kSide * kSide});
}

Dataset read_grey(const fs::path& data_dir, const MnistFiles& files) {
  const torch::Tensor train =
      read_mnist_images(data_dir, files, kTrainImages, kTrain + kValidation, files.train);
  Dataset data;
  data.train = train.narrow(0, 0, kTrain);
  data.validation = train.narrow(0, kTrain, kValidation);
  data.test = read_mnist_images(data_dir, files, "t10k-images-idx3-ubyte", kTest, files.test);
  data.values = PixelValues::kGrey;
  data.source = fmt::format("{}: {}, validation = the last {} training images",
                            folder_of(data_dir, files).string(), files.title, kValidation);
  return data;
}

torch::Tensor read_labels(const fs::path& data_dir, const MnistFiles& files) {
  const fs::path file =
      need_data_file(folder_of(data_dir, files), "train-labels-idx1-ubyte", files.origin);
  const torch::Tensor labels = read_idx(file);
  require(
      labels.dim() == 1 && labels.size(0) == kTrain + kValidation && labels.max().item<int>() < 10,
      "{} does not hold {} labels from 0 to 9", file.string(), kTrain + kValidation);
  return labels.narrow(0, 0, kTrain).to(torch::kInt64);
}

torch::Tensor read_static_images(const fs::path& folder, const std::string& name, int64_t count,
                                 double mean) {
  const fs::path file = need_data_file(
      folder, name,
      "the binarized MNIST published by Larochelle with \"The Neural Autoregressive Distribution "
      "Estimator\" (Larochelle and Murray 2011)");
  const torch::Tensor images = read_amat(file);
  require_images(file, images, count, kSide, kSide);
  require_published(file, images, 1, mean, "MNIST with fixed binarization");
  return images;
}

Dataset read_static_mnist(const fs::path& data_dir) {
  const fs::path folder = data_dir / "static_mnist";
  Dataset data;
  data.train = read_static_images(folder, "binarized_mnist_train.amat", kTrain, 0.130562);
  data.validation = read_static_images(folder, "binarized_mnist_valid.amat", kValidation, 0.131127);
  data.test = read_static_images(folder, "binarized_mnist_test.amat", kTest, 0.132512);
  data.source = fmt::format("{}: MNIST with fixed binarization", folder.string());
  return data;
}

DatasetEntry grey_entry(const char* name, const MnistFiles& files) {
  return {name, [&files](const fs::path& data_dir) { return read_grey(data_dir, files); },
          [&files](const fs::path& data_dir) { return read_labels(data_dir, files); }};
}

}  // namespace

bool has_fashion_mnist(const fs::path& data_dir) {
  return find_data_file(folder_of(data_dir, kFashion), kTrainImages).has_value();
}

std::vector<DatasetEntry> mnist_datasets() {
  return {{"static-mnist", read_static_mnist},
          grey_entry("mnist", kMnist),
          grey_entry("fashion-mnist", kFashion)};
}

}  // namespace isinglass
