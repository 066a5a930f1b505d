// The published files, if they lie in ../shared/data next to the repository: counts, means and the
// agreement of published and derived files. Skipped without them.
#include <gtest/gtest.h>

#include "tests/support/data_files.h"
#include "tests/support/scratch.h"
#include "tests/support/source_tree.h"
#include "train/data/describe.h"
#include "train/data/readers.h"

namespace isinglass::real_data_test {
namespace {

namespace fs = std::filesystem;

const fs::path kData = source_tree() / "../shared/data";

class RealData : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kData)) GTEST_SKIP() << "no data sets in " << kData;
  }
};

// Checks the mean foreground against the data's description, to its last digit.
void expect_split(const torch::Tensor& pixels, int64_t levels, int64_t count, double mean,
                  double last_digit) {
  EXPECT_EQ(pixels.sizes(), torch::IntArrayRef({count, 784}));
  EXPECT_NEAR(pixels.mean(torch::kFloat64).item<double>() / static_cast<double>(levels - 1), mean,
              0.5 * last_digit * (1 + 1e-9));
}

TEST_F(RealData, Mnist) {
  const Dataset data = load_dataset("mnist", kData);
  EXPECT_TRUE(data.dynamic());
  expect_split(data.train, 256, 50000, 0.13096, 1e-5);
  expect_split(data.validation, 256, 10000, 0.12916, 1e-5);
  expect_split(data.test, 256, 10000, 0.13251, 1e-5);
}

TEST_F(RealData, StaticMnist) {
  const Dataset data = load_dataset("static-mnist", kData);
  EXPECT_EQ(data.values, PixelValues::kBinary);
  expect_split(data.train, 2, 50000, 0.130562, 1e-6);
  expect_split(data.validation, 2, 10000, 0.131127, 1e-6);
  expect_split(data.test, 2, 10000, 0.132512, 1e-6);
}

// Means and classes as numpy counts them in the package's files.
TEST(PackagedFashionMnist, IsReadWhereTheDataFolderHasNone) {
  if (!fs::exists("/usr/share/datasets/fashion-mnist")) {
    GTEST_SKIP() << "Debian's package dataset-fashion-mnist is not installed";
  }
  const Scratch scratch;
  const Dataset data = load_dataset("fashion-mnist", scratch.folder());
  EXPECT_TRUE(data.dynamic());
  expect_split(data.train, 256, 50000, 0.28550, 1e-5);
  expect_split(data.validation, 256, 10000, 0.28875, 1e-5);
  expect_split(data.test, 256, 10000, 0.28685, 1e-5);
  const std::vector<int64_t> classes = {4977, 5012, 4992, 4979, 4950, 5004, 5030, 5045, 5032, 4979};
  EXPECT_TRUE(torch::bincount(load_labels("fashion-mnist", scratch.folder()))
                  .equal(torch::tensor(classes)));
}

TEST(FashionMnist, OfTheDataFolderComesFirst) {
  const Scratch scratch;
  put_file(scratch / "fashion_mnist/train-images-idx3-ubyte", idx_bytes({2, 1, 2}, "abcd"));
  EXPECT_ERROR(load_dataset("fashion-mnist", scratch.folder()),
               "2x1x2; expected 60000 images of 28x28");
}

TEST_F(RealData, OmniglotStandin) {
  const Dataset data = load_dataset("omniglot-standin", kData);
  EXPECT_TRUE(data.dynamic());
  EXPECT_EQ(data.validation.sizes(), torch::IntArrayRef({1345, 784}));
  expect_split(torch::cat({data.train, data.validation}), 256, 24345, 0.080758, 1e-6);
  expect_split(data.test, 256, 8115, 0.079782, 1e-6);
}

TEST_F(RealData, CaltechPublishedAndDerivedAgree) {
  const Scratch scratch;
  fs::create_directory(scratch / "caltech");
  for (const fs::directory_entry& entry : fs::directory_iterator(kData / "caltech")) {
    if (entry.path().extension() == ".gz")
      fs::copy_file(entry.path(), scratch.folder() / "caltech" / entry.path().filename());
  }
  const Dataset published = load_dataset("caltech", kData);
  const Dataset derived = load_dataset("caltech", scratch.folder());
  EXPECT_NE(published.source.find(".mat"), std::string::npos);
  EXPECT_NE(derived.source.find("derived"), std::string::npos);
  expect_split(published.train, 2, 4100, 0.448945, 1e-6);
  expect_split(published.validation, 2, 2264, 0.464041, 1e-6);
  expect_split(published.test, 2, 2307, 0.460985, 1e-6);
  EXPECT_TRUE(published.train.equal(derived.train));
  EXPECT_TRUE(published.validation.equal(derived.validation));
  EXPECT_TRUE(published.test.equal(derived.test));
}

TEST_F(RealData, FreyFacesPublishedAndDerivedAgree) {
  const Scratch scratch;
  fs::create_directory(scratch / "freyfaces");
  const char* derived_file = "freyfaces/freyfaces-images-idx3-ubyte.gz";
  fs::copy_file(kData / derived_file, scratch / derived_file);
  const Dataset published = load_dataset("freyfaces", kData);
  const Dataset derived = load_dataset("freyfaces", scratch.folder());
  EXPECT_NE(published.source.find(".pkl"), std::string::npos);
  EXPECT_NE(derived.source.find("idx3"), std::string::npos);
  EXPECT_EQ(published.values, PixelValues::kCategorical);
  EXPECT_EQ(published.space(), (StateSpace{StateKind::kCategorical, 560, 256}));
  EXPECT_EQ(std::pair(published.height, published.width), std::pair(int64_t{28}, int64_t{20}));
  EXPECT_EQ(published.train.size(0), 1565);
  EXPECT_EQ(published.validation.size(0), 200);
  EXPECT_EQ(published.test.size(0), 200);
  const auto all = [](const Dataset& data) {
    return torch::cat({data.train, data.validation, data.test});
  };
  EXPECT_TRUE(all(published).equal(all(derived)));
  EXPECT_NEAR(all(published).mean(torch::kFloat64).item<double>() / 255, 0.605729, 5.1e-7);
  EXPECT_EQ(published.train.min().item<int>(), 8);
  // The first frame of the video is among the images, with the first row that the file contains.
  const torch::Tensor row = torch::tensor({81, 136, 167, 185, 187, 193, 203, 222}, torch::kUInt8);
  EXPECT_EQ((all(published).narrow(1, 0, 8) == row).all(1).sum().item<int>(), 1);
}

TEST_F(RealData, DescribesThePublishedFiles) {
  const auto mat = describe_data_file(kData / "caltech/caltech101_silhouettes_28.mat");
  ASSERT_TRUE(mat.has_value());
  EXPECT_EQ(mat->format, "MATLAB 5, array 'X'");
  EXPECT_EQ(mat->dtype, "logical");
  EXPECT_EQ(mat->shape, (std::vector<int64_t>{8671, 784}));
  EXPECT_EQ(mat->images.sizes(), torch::IntArrayRef({64, 784}));
  const auto faces = describe_data_file(kData / "freyfaces/freyfaces-images-idx3-ubyte.gz");
  ASSERT_TRUE(faces.has_value());
  EXPECT_EQ(faces->height, 28);
  EXPECT_EQ(faces->width, 20);
  EXPECT_EQ(faces->min, 8);
  EXPECT_EQ(faces->max, 238);
  const auto labels = describe_data_file(kData / "mnist/t10k-labels-idx1-ubyte.gz");
  ASSERT_TRUE(labels.has_value());
  EXPECT_EQ(labels->images.numel(), 0);
}

}  // namespace
}  // namespace isinglass::real_data_test
