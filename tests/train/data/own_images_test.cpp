// A user's own images and points: the meaning of their values is determined over all splits
// together, and ambiguous values give one clear error.
#include "train/data/own_images.h"

#include <gtest/gtest.h>

#include <cmath>

#include "io/pt/pt_file.h"
#include "tests/support/data_files.h"
#include "tests/support/scratch.h"

namespace isinglass::own_images_test {
namespace {

torch::Tensor bytes_tensor(const std::vector<int64_t>& shape, const std::vector<uint8_t>& values) {
  return torch::tensor(std::vector<int64_t>(values.begin(), values.end()))
      .to(torch::kUInt8)
      .view(shape);
}

// N distinct flat images of D pixels: pixel 0 is the number of the image.
torch::Tensor numbered_images(int64_t count, int64_t sites) {
  torch::Tensor images = torch::zeros({count, sites}, torch::kUInt8);
  images.select(1, 0).copy_(torch::arange(count));
  return images;
}

TEST(OwnImages, SplitsAShuffleOfAllImages) {
  const Scratch scratch;
  const torch::Tensor images = numbered_images(105, 4) + 150;  // grey levels
  const std::string file = scratch / "own.pt";
  write_pt(file, PtValue{images.view({105, 2, 2})});
  const Dataset data = load_dataset(file, "unused");
  EXPECT_EQ(data.train.size(0), 85);
  EXPECT_EQ(data.validation.size(0), 10);
  EXPECT_EQ(data.test.size(0), 10);
  EXPECT_EQ(data.values, PixelValues::kGrey);
  EXPECT_EQ(std::pair(data.height, data.width), std::pair(int64_t{2}, int64_t{2}));
  const torch::Tensor all = torch::cat({data.train, data.validation, data.test});
  EXPECT_FALSE(all.equal(images));
  EXPECT_TRUE(std::get<0>(all.sort(0)).equal(images));
  EXPECT_TRUE(load_dataset(file, "unused").train.equal(data.train));
}

TEST(OwnImages, TypesAndShapes) {
  const Scratch scratch;
  const auto load = [&](const torch::Tensor& tensor) {
    write_pt(scratch / "own.pt", PtValue{tensor});
    return load_dataset(scratch / "own.pt", "unused");
  };
  const Dataset binary = load(torch::ones({1, 6}));
  EXPECT_EQ(binary.values, PixelValues::kBinary);
  EXPECT_EQ(binary.height, 1);
  EXPECT_EQ(binary.width, 6);
  EXPECT_TRUE(binary.train.equal(torch::ones({1, 6}, torch::kUInt8)));
  EXPECT_EQ(binary.validation.sizes(), torch::IntArrayRef({0, 6}));
  const Dataset grey = load(torch::tensor({{0.0f, 0.5f, 1.0f, 0.1f}}));
  EXPECT_EQ(grey.values, PixelValues::kGrey);
  EXPECT_EQ(grey.height, 2);
  EXPECT_TRUE(grey.train.equal(bytes_tensor({1, 4}, {0, 128, 255, 26})));
  EXPECT_EQ(load(torch::ones({3, 2, 5}, torch::kBool)).width, 5);
  EXPECT_ERROR(load(torch::full({2, 4}, 1.5)), "outside [0, 1]");
  EXPECT_ERROR(load(torch::full({2, 4}, std::nan(""))), "not a number");
  EXPECT_ERROR(load(torch::arange(16).view({4, 4}).to(torch::kUInt8)), "whole numbers up to 15");
  EXPECT_ERROR(load(torch::full({2, 4}, 2, torch::kUInt8)), "Divide them by 2 to make them real");
  EXPECT_ERROR(load(torch::full({2, 4}, 127, torch::kUInt8)), "at least 128 of 255");
  EXPECT_EQ(load(torch::full({2, 4}, 128, torch::kUInt8)).values, PixelValues::kGrey);
  EXPECT_EQ(load(torch::full({2, 4}, 0.6f)).values, PixelValues::kGrey);
  EXPECT_ERROR(
      load(torch::full({2, 4}, 0.1f)),
      "holds real grey levels up to 0.1; expected levels from 0 (black) to 1 (white), whose "
      "largest is at least 0.5");
  EXPECT_ERROR(load(torch::ones({4})),
               "shape [4]; expected images [N, D], [N, H, W] or [N, 1, H, W]");
  EXPECT_ERROR(load(torch::ones({0, 4})), "shape [0, 4]; expected images");
  EXPECT_ERROR(load(torch::ones({2, 0})), "shape [2, 0]; expected images");
  EXPECT_ERROR(load(torch::ones({2, 3, 2, 2})), "shape [2, 3, 2, 2]; expected images");
  const Dataset channel = load(torch::ones({2, 1, 4, 3}));
  EXPECT_EQ(std::pair(channel.height, channel.width), std::pair(int64_t{4}, int64_t{3}));
}

TEST(OwnImages, OfCategories) {
  const Scratch scratch;
  const std::string file = scratch / "own.pt";
  const torch::Tensor images = torch::arange(12).remainder(5).view({3, 2, 2});
  for (const auto type : {torch::kUInt8, torch::kInt64}) {
    write_pt(file, PtValue{images.to(type)});
    const Dataset data = load_dataset(file, "unused", 5);
    EXPECT_EQ(data.space(), (StateSpace{StateKind::kCategorical, 4, 5}));
    EXPECT_TRUE(std::get<0>(data.train.sort(0))
                    .equal(std::get<0>(images.view({3, 4}).to(torch::kUInt8).sort(0))));
    EXPECT_EQ(load_dataset(file, "unused", 256).categories, 256);
    EXPECT_ERROR(load_dataset(file, "unused", 4), "holds whole numbers from 0 to 4");
  }
  write_pt(file, PtValue{torch::rand({3, 4})});
  EXPECT_ERROR(load_dataset(file, "unused", 5), "categories are whole numbers");
  EXPECT_ERROR(load_dataset("strokes", "unused", 5), "determines the values of its pixels");
}

// NaN marks missing values of training images, however their known values are understood.
TEST(OwnImages, WithMissingValues) {
  const float nan = std::nanf("");
  const torch::Tensor bits = torch::tensor({{0.f, nan, 1.f, 0.f}, {1.f, 1.f, nan, 0.f}});
  const torch::Tensor missing = torch::isnan(bits);
  const auto load = [](const torch::Tensor& train, std::optional<int64_t> levels = {}) {
    return own_images({.train = {"x", train}}, "x", levels);
  };
  const Dataset binary = load(bits.view({2, 2, 2}));
  EXPECT_EQ(binary.values, PixelValues::kBinary);
  EXPECT_TRUE(binary.missing.equal(missing));
  EXPECT_TRUE(binary.train.equal(bytes_tensor({2, 4}, {0, 0, 1, 0, 1, 1, 0, 0})));
  const Dataset grey = load(bits.to(torch::kFloat64) / 1.25);
  EXPECT_EQ(grey.values, PixelValues::kGrey);
  EXPECT_TRUE(grey.train.equal(bytes_tensor({2, 4}, {0, 0, 204, 0, 204, 204, 0, 0})));
  const Dataset categories = load(2 * bits.to(torch::kFloat16), 3);
  EXPECT_EQ(categories.space(), (StateSpace{StateKind::kCategorical, 4, 3}));
  EXPECT_TRUE(categories.train.equal(2 * binary.train));
  EXPECT_TRUE(categories.missing.equal(missing));
  EXPECT_FALSE(load(bits.nan_to_num(0)).missing.defined());
  // A single array is not split, because all of its images may be incomplete.
  const Dataset whole = own_images({.whole = {"x", bits}}, "x");
  EXPECT_TRUE(whole.train.equal(binary.train));
  EXPECT_EQ(whole.test.size(0), 0);
  EXPECT_ERROR(load(2 * bits - 1), "x holds the values -1 and 1");
  EXPECT_ERROR(load(torch::tensor({{nan, 0.5f}}), 3), "categories are whole numbers");
  EXPECT_ERROR(load(torch::full({2, 4}, nan)), "every value of x is not a number");
  EXPECT_ERROR(load(bits * INFINITY), "holds");
  EXPECT_ERROR(own_images({.train = {"x", bits}, .test = {"y", bits}}, "x"),
               "y holds values that are not a number; only training images may have missing");
  EXPECT_ERROR(own_points({.train = {"x", bits}}, "x"), "values of points may not be missing");
}

TEST(OwnImages, IdxFile) {
  const Scratch scratch;
  put_gzip(scratch / "own-idx.gz", idx_bytes({1, 2, 3}, {0, 1, 1, 0, 0, 1}));
  const Dataset data = load_dataset(scratch / "own-idx.gz", "unused");
  EXPECT_EQ(data.values, PixelValues::kBinary);
  EXPECT_EQ(data.height, 2);
  EXPECT_EQ(data.width, 3);
  EXPECT_TRUE(data.train.equal(bytes_tensor({1, 6}, {0, 1, 1, 0, 0, 1})));
}

OwnArrays splits(const torch::Tensor& train, const torch::Tensor& test) {
  return {.train = {"the split 'train'", train}, .test = {"the split 'test'", test}};
}

Dataset of_splits(const torch::Tensor& train, const torch::Tensor& test,
                  std::optional<int64_t> levels = {}) {
  return own_images(splits(train, test), "the splits", levels);
}

const torch::Tensor kBits = torch::tensor({{0, 1, 1, 0}, {1, 1, 0, 0}});
const torch::Tensor kGrey = torch::tensor({{0.f, .5f, 1.f, .1f}});

// Binary images in a set with grey ones become 0 and 255 on the same scale.
TEST(OwnSplits, HaveOneScale) {
  for (const auto type : {torch::kUInt8, torch::kBool, torch::kInt64, torch::kFloat32}) {
    const Dataset data = of_splits(kBits.to(type), kGrey);
    EXPECT_EQ(data.values, PixelValues::kGrey);
    EXPECT_TRUE(data.train.equal(kBits.to(torch::kUInt8) * 255)) << data.train;
    EXPECT_TRUE(data.test.equal(bytes_tensor({1, 4}, {0, 128, 255, 26})));
    const Dataset turned = of_splits(kGrey, kBits.to(type));
    EXPECT_TRUE(turned.test.equal(data.train));
    EXPECT_TRUE(turned.train.equal(data.test));
  }
  const torch::Tensor levels = bytes_tensor({1, 4}, {0, 1, 200, 255});
  for (const auto type : {torch::kBool, torch::kFloat64}) {
    EXPECT_TRUE(of_splits(kBits.to(type), levels).train.equal(kBits.to(torch::kUInt8) * 255));
  }
  EXPECT_TRUE(of_splits(kGrey, levels).test.equal(levels));
  EXPECT_EQ(of_splits(kBits, kBits.to(torch::kFloat32)).values, PixelValues::kBinary);
}

TEST(OwnSplits, OfUnclearScaleAreRefused) {
  const torch::Tensor levels = bytes_tensor({1, 4}, {0, 1, 200, 255});
  for (const auto type : {torch::kUInt8, torch::kInt32}) {
    EXPECT_ERROR(of_splits(kBits.to(type), levels),
                 "the split 'train' holds whole numbers up to 1 and the split 'test' up to 255");
    EXPECT_ERROR(of_splits(levels, kBits.to(type)),
                 "the split 'test' holds whole numbers up to 1 and the split 'train' up to 255");
  }
  EXPECT_EQ(of_splits(torch::zeros({2, 4}, torch::kUInt8), levels).values, PixelValues::kGrey);
  EXPECT_ERROR(of_splits(levels, torch::full({1, 4}, 16, torch::kUInt8)),
               "the split 'test' holds whole numbers up to 16; expected 0 and 1, or grey levels");
  EXPECT_ERROR(of_splits(kBits, torch::arange(4).view({1, 4})),
               "give levels 4 to read them as categories");
}

TEST(OwnSplits, HaveOneSize) {
  const Dataset flat = of_splits(torch::ones({2, 16}), torch::ones({1, 16}));
  EXPECT_EQ(std::pair(flat.height, flat.width), std::pair(int64_t{4}, int64_t{4}));
  EXPECT_TRUE(flat.flat);
  for (const Dataset& data : {of_splits(torch::ones({2, 16}), torch::ones({1, 2, 8})),
                              of_splits(torch::ones({2, 1, 2, 8}), torch::ones({1, 16}))}) {
    EXPECT_EQ(std::pair(data.height, data.width), std::pair(int64_t{2}, int64_t{8}));
    EXPECT_FALSE(data.flat);
    EXPECT_EQ(data.train.sizes(), torch::IntArrayRef({2, 16}));
  }
  EXPECT_ERROR(
      of_splits(torch::ones({2, 4, 4}), torch::ones({1, 2, 8})),
      "the split 'test' holds images of 2x8 pixels, but the split 'train' holds images of 4x4");
  EXPECT_ERROR(
      of_splits(torch::ones({2, 16}), torch::ones({1, 15})),
      "the split 'test' holds images of 15 pixels, but the split 'train' holds images of 16");
  EXPECT_ERROR(own_images({.test = {"the split 'test'", kBits}}, "the splits"),
               "the splits has no training images");
  EXPECT_EQ(of_splits(kBits, kBits.narrow(0, 0, 0)).test.sizes(), torch::IntArrayRef({0, 4}));
}

TEST(OwnSplits, OfCategories) {
  const torch::Tensor values = torch::arange(8).view({2, 4}) % 4;
  const Dataset data = of_splits(values, kBits, 4);
  EXPECT_EQ(data.space(), (StateSpace{StateKind::kCategorical, 4, 4}));
  EXPECT_TRUE(data.test.equal(kBits.to(torch::kUInt8)));
  EXPECT_ERROR(of_splits(kBits, values, 3), "the split 'test' holds whole numbers from 0 to 3");
}

TEST(OwnImages, OfWholeNumbersOfAnyType) {
  const auto load = [](const torch::Tensor& values) {
    return own_images({.whole = {"x", values}}, "x");
  };
  for (const auto type : {torch::kInt8, torch::kInt16, torch::kInt32, torch::kInt64, torch::kUInt16,
                          torch::kUInt32, torch::kFloat16, torch::kBFloat16}) {
    const Dataset data = load(kBits.to(type));
    EXPECT_EQ(data.values, PixelValues::kBinary) << type;
    EXPECT_TRUE(std::get<0>(data.train.sort(0)).equal(std::get<0>(kBits.to(torch::kUInt8).sort(0))))
        << type;
  }
  const torch::Tensor levels = torch::tensor({{0, 3, 200, 255}});
  EXPECT_TRUE(load(levels).train.equal(levels.to(torch::kUInt8)));
  EXPECT_ERROR(load(levels * 2), "x holds whole numbers from 0 to 510");
  for (const auto type : {torch::kInt8, torch::kInt64, torch::kFloat32}) {
    EXPECT_ERROR(
        load((2 * kBits - 1).to(type)),
        "x holds the values -1 and 1, but states have the values 0 and 1; (s + 1)/2 converts");
  }
  EXPECT_ERROR(load(-kBits), "x holds whole numbers from -1 to 0");
  EXPECT_ERROR(load(torch::ones({2, 4}, torch::kComplexFloat)),
               "x holds values of type ComplexFloat");
  const torch::Tensor halves = torch::tensor({{0.f, 1.f / 3, 0.7f, 1.f}});
  EXPECT_TRUE(
      load(halves.to(torch::kFloat16)).train.equal(bytes_tensor({1, 4}, {0, 85, 179, 255})));
}

// Labels belong to the training images, in their order.
TEST(OwnImages, LabelsGoWithThem) {
  const torch::Tensor images = numbered_images(105, 4) + 150, labels = torch::arange(105) % 7;
  const OwnArrays arrays{.whole = {"x", images}, .labels = labels};
  const Dataset data = own_images(arrays, "x");
  EXPECT_TRUE(data.labels.equal((data.train.select(1, 0).to(torch::kInt64) - 150) % 7));
  EXPECT_EQ(data.labels.scalar_type(), torch::kInt64);
  OwnArrays wrong = arrays;
  wrong.labels = labels.narrow(0, 0, 50);
  EXPECT_ERROR(own_images(wrong, "x"), "there are 50 labels for the 105 training images of x");
  wrong.labels = labels - 1;
  EXPECT_ERROR(own_images(wrong, "x"), "a label of x is -1; classes are whole numbers from 0");
  wrong.labels = labels.to(torch::kFloat32);
  EXPECT_ERROR(own_images(wrong, "x"), "the labels of x are of type Float and shape [105]");
  const torch::Tensor points = torch::randn({5, 3});
  EXPECT_TRUE(own_points({.whole = {"x", points}, .labels = labels.narrow(0, 0, 5)}, "x")
                  .labels.equal(labels.narrow(0, 0, 5)));
}

TEST(OwnPoints, OfSplits) {
  const OwnArrays arrays = splits(torch::randn({5, 3}), torch::randn({2, 3}));
  EXPECT_TRUE(are_points(arrays));
  const Dataset data = own_points(arrays, "the splits");
  EXPECT_TRUE(data.train.equal(arrays.train.values));
  EXPECT_TRUE(data.test.equal(arrays.test.values));
  EXPECT_FALSE(are_points(splits(torch::randn({5, 3}), kBits)));
  EXPECT_ERROR(
      own_points(splits(torch::randn({5, 3}), torch::randn({2, 4})), "the splits"),
      "the split 'test' holds images of 4 pixels, but the split 'train' holds images of 3");
}

TEST(SetImageSize, SaysWhatRowsAre) {
  Dataset rows = own_images({.whole = {"x", torch::ones({3, 12})}}, "x");
  EXPECT_EQ(std::pair(rows.height, rows.width), std::pair(int64_t{1}, int64_t{12}));
  set_image_size(rows, 4, 3);
  EXPECT_EQ(std::pair(rows.height, rows.width), std::pair(int64_t{4}, int64_t{3}));
  EXPECT_ERROR(set_image_size(rows, 4, 4), "image is 4x4, but the images of x have 12 pixels");
  Dataset sized = own_images({.whole = {"x", torch::ones({3, 4, 3})}}, "x");
  set_image_size(sized, 4, 3);
  EXPECT_ERROR(set_image_size(sized, 3, 4), "image is 3x4, but the images of x are 4x3");
}

// Covers further files in addition to one of training images, a dictionary of splits, and points.
TEST(OwnFiles, OfSplits) {
  const Scratch scratch;
  const auto file = [&](const char* name, const PtValue& value) {
    write_pt(scratch / name, value);
    return scratch / name;
  };
  const torch::Tensor grey = kGrey.view({1, 2, 2}), labels = torch::tensor({1, 0});
  const auto train = file("train.pt", {kBits.to(torch::kFloat32)}), test = file("test.pt", {grey});
  const Dataset data = load_dataset(train, "unused", {}, {.test = test});
  EXPECT_TRUE(data.train.equal(kBits.to(torch::kUInt8) * 255));  // as they came, in the same scale
  EXPECT_EQ(data.validation.size(0), 0);
  EXPECT_TRUE(data.test.equal(bytes_tensor({1, 4}, {0, 128, 255, 26})));
  EXPECT_EQ(std::pair(data.height, data.width), std::pair(int64_t{2}, int64_t{2}));
  const Dataset both = load_dataset(train, "unused", {}, {.validation = train, .test = test});
  EXPECT_TRUE(both.validation.equal(data.train));

  const auto all =
      file("all.pt", {PtDict{{"train", {kBits}}, {"valid", {kBits}}, {"labels", {labels}}}});
  const Dataset named = load_dataset(all, "unused");
  EXPECT_TRUE(named.train.equal(kBits.to(torch::kUInt8)));
  EXPECT_TRUE(named.validation.equal(named.train));
  EXPECT_TRUE(named.labels.equal(labels));
  EXPECT_TRUE(load_labels(all, "unused").equal(labels));
  EXPECT_ERROR(load_labels(train, "unused"), "holds no classes");
  EXPECT_ERROR(load_dataset(all, "unused", {}, {.validation = train}),
               "all.pt already holds images of that split");
  EXPECT_ERROR(load_dataset(train, "unused", {}, {.test = all}), "which holds several arrays");
  EXPECT_ERROR(load_dataset("strokes", "unused", {}, {.test = test}), "has its own splits");
  EXPECT_ERROR(load_dataset(train, "unused", {}, {.test = scratch / "none.npy"}), "none.npy");
  const auto odd = file("odd.pt", {PtDict{{"a", {kBits}}, {"b", {kBits}}}});
  EXPECT_ERROR(
      load_dataset(odd, "unused"),
      "odd.pt holds the arrays a, b; expected train, validation and test, or a single array");
  const auto lone = file("lone.pt", {PtDict{{"test", {kBits}}}});
  EXPECT_ERROR(load_dataset(lone, "unused"), "expected train, validation and test");

  const auto points = file("points.pt", {torch::randn({5, 3})});
  EXPECT_EQ(load_points(points, "unused", {.test = points}).test.size(0), 5);
}

}  // namespace
}  // namespace isinglass::own_images_test
