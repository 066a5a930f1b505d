// The built-in strokes: sizes, the same images for any number of threads, splits of one
// distribution.
#include <gtest/gtest.h>
#include <omp.h>

#include "train/data/readers.h"

namespace isinglass::strokes_test {
namespace {

// Ink of each image, as a fraction of its pixels.
torch::Tensor ink(const torch::Tensor& images) {
  return images.to(torch::kFloat64).mean(1);
}

TEST(Strokes, SizesValuesAndSplits) {
  const Dataset data = load_dataset("strokes", "unused");
  EXPECT_EQ(data.train.sizes(), torch::IntArrayRef({50000, 784}));
  EXPECT_EQ(data.validation.sizes(), torch::IntArrayRef({10000, 784}));
  EXPECT_EQ(data.test.sizes(), torch::IntArrayRef({10000, 784}));
  EXPECT_EQ(data.values, PixelValues::kBinary);
  EXPECT_EQ(values_of(data.train), PixelValues::kBinary);
  const torch::Tensor train = ink(data.train), test = ink(data.test);
  // A line 17 pixels long drawn with the thinnest pen, and half of the page.
  EXPECT_GT(train.min().item<double>(), 17 * 1.5 * 0.5 / 784);
  EXPECT_LT(train.max().item<double>(), 0.5);
  const double error =
      std::sqrt(train.var().item<double>() / 50000 + test.var().item<double>() / 10000);
  EXPECT_NEAR(train.mean().item<double>(), test.mean().item<double>(), 5 * error);
}

TEST(Strokes, ImagesDiffer) {
  const torch::Tensor images = make_strokes().train.narrow(0, 0, 2000);
  EXPECT_EQ(std::get<0>(torch::unique_dim(images, 0)).size(0), 2000);
}

TEST(Strokes, SameForAnyNumberOfThreads) {
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const Dataset one = make_strokes();
  omp_set_num_threads(3);
  const Dataset three = make_strokes();
  omp_set_num_threads(threads);
  EXPECT_TRUE(one.train.equal(three.train));
  EXPECT_TRUE(one.validation.equal(three.validation));
  EXPECT_TRUE(one.test.equal(three.test));
}

}  // namespace
}  // namespace isinglass::strokes_test
