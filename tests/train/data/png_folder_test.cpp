// A folder of PNG images as a user's own.
#include <gtest/gtest.h>

#include "tests/support/data_files.h"
#include "tests/support/png_bytes.h"
#include "tests/support/scratch.h"
#include "train/data/dataset.h"
#include "train/data/describe.h"

namespace isinglass::png_folder_test {
namespace {

torch::Tensor bytes_tensor(const std::vector<int64_t>& shape, const std::vector<int64_t>& values) {
  return torch::tensor(values).to(torch::kUInt8).view(shape);
}

TEST(OwnImages, FolderOfPngImages) {
  const Scratch scratch;
  const auto put = [&](const std::string& name, uint32_t height, const std::vector<uint8_t>& grey) {
    put_file(scratch / "images" / name, png_bytes(PNG_FORMAT_GRAY, height, 2, grey));
  };
  put("b.png", 1, {7, 200});
  put("a.png", 1, {0, 255});
  put_file(scratch / "images/labels.txt", "what else is there");
  const Dataset data = load_dataset(scratch / "images", "unused");
  EXPECT_EQ(data.values, PixelValues::kGrey);
  EXPECT_EQ(std::pair(data.height, data.width), std::pair(int64_t{1}, int64_t{2}));
  EXPECT_TRUE(std::get<0>(data.train.sort(0)).equal(bytes_tensor({2, 2}, {0, 200, 7, 255})));
  EXPECT_EQ(load_dataset(scratch / "images", "unused", 256).categories, 256);
  const auto described = describe_data_file(scratch / "images");
  ASSERT_TRUE(described.has_value());
  EXPECT_EQ(described->format, "a folder of PNG images");
  EXPECT_TRUE(described->images.equal(bytes_tensor({2, 2}, {0, 255, 7, 200})));  // as their names

  put("c.png", 2, {0, 1, 2, 3});
  EXPECT_ERROR(
      load_dataset(scratch / "images", "unused"),
      "c.png has 2x2 pixels, but a.png has 1x2; all images of a folder must have the same size");
  put_file(scratch / "images/c.png", "no image");
  EXPECT_ERROR(load_dataset(scratch / "images", "unused"), "c.png is not a PNG image");
  put("c.png", 1, {0, 255});
  put("b.png", 1, {255, 0});  // black and white alone are binary
  const Dataset binary = load_dataset(scratch / "images", "unused");
  EXPECT_EQ(binary.values, PixelValues::kBinary);
  EXPECT_TRUE(std::get<0>(binary.train.sort(0)).equal(bytes_tensor({3, 2}, {0, 0, 0, 1, 1, 1})));

  // Next to grey images, black and white keep their meaning.
  put_file(scratch / "grey/a.png", png_bytes(PNG_FORMAT_GRAY, 1, 2, {0, 200}));
  for (const bool black_and_white : {true, false}) {
    const Dataset both = load_dataset(scratch / (black_and_white ? "images" : "grey"), "unused", {},
                                      {.test = scratch / (black_and_white ? "grey" : "images")});
    EXPECT_EQ(both.values, PixelValues::kGrey);
    EXPECT_EQ((black_and_white ? both.train : both.test).max().item<int>(), 255);
  }

  std::filesystem::create_directories(scratch / "none");
  EXPECT_ERROR(load_dataset(scratch / "none", "unused"), "none is not a file of images");
}

}  // namespace
}  // namespace isinglass::png_folder_test
