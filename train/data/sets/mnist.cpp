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

constexpr int64_t kMnistTrain = 50000, kMnistValidation = 10000, kMnistTest = 10000,
                  kMnistSide = 28;

struct MnistFiles {
  const char *name, *folder, *title, *origin;
  double train, test;              // means of the pixels
  const char* packaged = nullptr;  // folder of Debian's package
};

constexpr MnistFiles kMnist = {
    "mnist", "mnist",
    "MNIST", "MNIST by LeCun, Cortes and Burges, published at yann.lecun.com/exdb/mnist",
    0.13066, 0.13251};
constexpr MnistFiles kFashion = {
    "fashion-mnist",
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
  const fs::path file = need_data_file(folder_of(data_dir, files), name, files.origin, files.name);
  const torch::Tensor images = read_idx(file);
  require_images(file, images, count, kMnistSide, kMnistSide);
  require_published(file, images, 255, mean, files.title);
  return images.view({count, kMnistSide * kMnistSide});
}

Dataset read_grey(const fs::path& data_dir, const MnistFiles& files) {
  const torch::Tensor train =
      read_mnist_images(data_dir, files, kTrainImages, kMnistTrain + kMnistValidation, files.train);
  Dataset data;
  data.train = train.narrow(0, 0, kMnistTrain);
  data.validation = train.narrow(0, kMnistTrain, kMnistValidation);
  data.test = read_mnist_images(data_dir, files, "t10k-images-idx3-ubyte", kMnistTest, files.test);
  data.values = PixelValues::kGrey;
  data.source = fmt::format("{}: {}, validation = the last {} training images",
                            folder_of(data_dir, files).string(), files.title, kMnistValidation);
  return data;
}

torch::Tensor read_labels(const fs::path& data_dir, const MnistFiles& files) {
  const fs::path file = need_data_file(folder_of(data_dir, files), "train-labels-idx1-ubyte",
                                       files.origin, files.name);
  const torch::Tensor labels = read_idx(file);
  require(labels.dim() == 1 && labels.size(0) == kMnistTrain + kMnistValidation &&
              labels.max().item<int>() < 10,
          "{} does not hold {} labels from 0 to 9", file.string(), kMnistTrain + kMnistValidation);
  return labels.narrow(0, 0, kMnistTrain).to(torch::kInt64);
}

torch::Tensor read_static_images(const fs::path& folder, const std::string& name, int64_t count,
                                 double mean) {
  const fs::path file = need_data_file(
      folder, name,
      "the binarized MNIST published by Larochelle with \"The Neural Autoregressive Distribution "
      "Estimator\" (Larochelle and Murray 2011)",
      "static-mnist");
  const torch::Tensor images = read_amat(file);
  require_images(file, images, count, kMnistSide, kMnistSide);
  require_published(file, images, 1, mean, "MNIST with fixed binarization");
  return images;
}

Dataset read_static_mnist(const fs::path& data_dir) {
  const fs::path folder = data_dir / "static_mnist";
  Dataset data;
  data.train = read_static_images(folder, "binarized_mnist_train.amat", kMnistTrain, 0.130562);
  data.validation =
      read_static_images(folder, "binarized_mnist_valid.amat", kMnistValidation, 0.131127);
  data.test = read_static_images(folder, "binarized_mnist_test.amat", kMnistTest, 0.132512);
  data.source = fmt::format("{}: MNIST with fixed binarization", folder.string());
  return data;
}

DatasetEntry grey_entry(const MnistFiles& files, const char* source, Publication publication) {
  return {.name = files.name,
          .read = [&files](const fs::path& data_dir) { return read_grey(data_dir, files); },
          .labels = [&files](const fs::path& data_dir) { return read_labels(data_dir, files); },
          .sizes = "50000 / 10000 / 10000 of 28x28",
          .values = "grey levels",
          .source = source,
          .publication = std::move(publication)};
}

const Publication kStaticMnistFiles = {
    .folder = "static_mnist",
    .files = {{"binarized_mnist_train.amat",
               "ad693b29f94c14277b095f5238ddefbbdaaae0939789dd2f4f0205278cee3e4d"},
              {"binarized_mnist_valid.amat",
               "1de3d397c40fe8eeb33dafd4099a1f665ec01e96d9be234aaeeac8a34930e2e2"},
              {"binarized_mnist_test.amat",
               "e6687bfea3f820c174f33b7865140b2a2dd2930ef786f35d45795fc193b5ab2c"}},
    .addresses = {"http://www.cs.toronto.edu/~larocheh/public/datasets/binarized_mnist/",
                  "https://raw.githubusercontent.com/riannevdberg/sylvester-flows/master/data/"
                  "MNIST_static/"},
    .terms =
        "made from MNIST, whose licence is CC BY-SA 3.0; cite Larochelle and Murray 2011 "
        "(AISTATS) and Salakhutdinov and Murray 2008 (ICML)"};

const Publication kMnistFiles = {
    .folder = "mnist",
    .files = {{"train-images-idx3-ubyte.gz",
               "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
              {"train-labels-idx1-ubyte.gz",
               "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
              {"t10k-images-idx3-ubyte.gz",
               "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
              {"t10k-labels-idx1-ubyte.gz",
               "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"}},
    .addresses = {"https://ossci-datasets.s3.amazonaws.com/mnist/",
                  "https://storage.googleapis.com/cvdf-datasets/mnist/",
                  "http://yann.lecun.com/exdb/mnist/"},
    .terms =
        "licence CC BY-SA 3.0, copyright LeCun and Cortes; cite LeCun, Bottou, Bengio and "
        "Haffner 1998"};

const Publication kFashionFiles = {
    .folder = "fashion_mnist",
    .files = {{"train-images-idx3-ubyte.gz",
               "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"},
              {"train-labels-idx1-ubyte.gz",
               "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"},
              {"t10k-images-idx3-ubyte.gz",
               "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"},
              {"t10k-labels-idx1-ubyte.gz",
               "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"}},
    .addresses = {"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
                  "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/"
                  "fashion/",
                  "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"},
    .terms =
        "MIT licence, copyright Zalando SE; cite Xiao, Rasul and Vollgraf 2017 "
        "(arXiv 1708.07747)"};

}  // namespace

bool has_fashion_mnist(const fs::path& data_dir) {
  return find_data_file(folder_of(data_dir, kFashion), kTrainImages).has_value();
}

std::vector<DatasetEntry> mnist_datasets() {
  return {{.name = "static-mnist",
           .read = read_static_mnist,
           .sizes = "50000 / 10000 / 10000 of 28x28",
           .values = "binary",
           .source = "Larochelle and Murray 2011",
           .publication = kStaticMnistFiles},
          grey_entry(kMnist, "LeCun, Cortes and Burges 1998", kMnistFiles),
          grey_entry(kFashion, "Xiao, Rasul and Vollgraf 2017", kFashionFiles)};
}

}  // namespace isinglass
