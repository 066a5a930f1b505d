#include "io/picture.h"

#include <gtest/gtest.h>
#include <png.h>

#include "io/files.h"
#include "tests/support/png_bytes.h"
#include "tests/support/scratch.h"

namespace isinglass {
namespace {

// [height, width] grey levels, decoded by libpng's own reader.
torch::Tensor decoded(const std::filesystem::path& file) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  EXPECT_TRUE(png_image_begin_read_from_file(&png, file.c_str())) << png.message;
  EXPECT_EQ(png.format, unsigned{PNG_FORMAT_GRAY});
  torch::Tensor pixels = torch::empty({png.height, png.width}, torch::kUInt8);
  EXPECT_TRUE(png_image_finish_read(&png, nullptr, pixels.data_ptr(), 0, nullptr)) << png.message;
  return pixels;
}

torch::Tensor bytes(std::vector<int64_t> values) {
  return torch::tensor(values).to(torch::kUInt8);
}

TEST(Picture, ThreeImagesInTwoColumns) {
  const Scratch scratch;
  const torch::Tensor images = bytes({1, 0, 1, 0, 1, 1, 0, 0, 1}).view({3, 3});  // 1x3 pixels each
  write_picture_grid(scratch / "grid.png", images, 1, 3, 2);
  const int64_t f = 96, w = 255;
  EXPECT_TRUE(torch::equal(decoded(scratch / "grid.png"), bytes({f, f, f, f, f, f, f, f, f,  //
                                                                 f, w, 0, w, f, 0, w, w, f,  //
                                                                 f, f, f, f, f, f, f, f, f,  //
                                                                 f, 0, 0, w, f, f, f, f, f,  //
                                                                 f, f, f, f, f, f, f, f, f})
                                                              .view({5, 9})));
}

TEST(Picture, GreyLevelsFloatsAndStridesAreDrawnAsTheyAre) {
  const Scratch scratch;
  const auto inside = [&] { return decoded(scratch / "a.png").slice(0, 1, 3).slice(1, 1, 3); };
  const torch::Tensor expected = bytes({0, 51, 102, 255}).view({2, 2});
  write_picture_grid(scratch / "a.png", expected.view({1, 4}), 2, 2, 10, /*scale=*/1);
  EXPECT_TRUE(torch::equal(inside(), expected));
  EXPECT_EQ(decoded(scratch / "a.png").size(1), 4);  // no more columns than images
  write_picture_grid(scratch / "a.png", expected.view({1, 4}).to(torch::kFloat) / 255, 2, 2, 1);
  EXPECT_TRUE(torch::equal(inside(), expected));
  write_picture_grid(scratch / "a.png", expected.t().contiguous().view({4, 1}).t(), 2, 2, 1, 1);
  EXPECT_TRUE(torch::equal(inside(), expected.t()));
}

TEST(Picture, WrongInputIsAnErrorAndWritesNothing) {
  const Scratch scratch;
  const auto file = scratch / "a.png";
  EXPECT_ERROR(write_picture_grid(file, torch::zeros({2, 5}), 2, 2, 1), "[N, 4], not [2, 5]");
  EXPECT_ERROR(write_picture_grid(file, torch::zeros({0, 4}), 2, 2, 1), "[N, 4]");
  EXPECT_ERROR(write_picture_grid(file, torch::zeros({1, 4}), 2, 2, 0), "positive");
  EXPECT_ERROR(write_picture_grid(file, torch::full({1, 4}, 1.5), 2, 2, 1), "[0, 1]");
  EXPECT_ERROR(write_picture_grid(file, torch::full({1, 4}, NAN), 2, 2, 1), "[0, 1]");
  EXPECT_ERROR(write_picture_grid(file, bytes({0, 1, 2, 3}).view({1, 4}), 2, 2, 1), "reach 765");
  EXPECT_ERROR(write_picture_grid(file, torch::zeros({1, 4}, torch::kInt), 2, 2, 1), "uint8");
  EXPECT_EQ(scratch.files(), 0u);
  EXPECT_ERROR(write_picture_grid(scratch / "no/a.png", torch::zeros({1, 4}), 2, 2, 1),
               "No such file or directory");
}

TEST(Picture, ReadsGreyLevelsLuminanceAndWhatIsTransparentOnBlack) {
  const Scratch scratch;
  const auto read = [&](const std::string& content) {
    write_file(scratch / "a.png", content);
    return read_png(scratch / "a.png");
  };
  const std::string grey = png_bytes(PNG_FORMAT_GRAY, 2, 3, {0, 1, 100, 200, 254, 255});
  EXPECT_TRUE(read(grey).equal(bytes({0, 1, 100, 200, 254, 255}).view({2, 3})));
  const torch::Tensor colours = read(png_bytes(
      PNG_FORMAT_RGB, 1, 5, {90, 90, 90, 255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255}));
  EXPECT_EQ(colours[0][0].item<int>(), 90);
  EXPECT_EQ(colours[0][4].item<int>(), 255);
  EXPECT_GT(colours[0][2].item<int>(), colours[0][1].item<int>());  // green is brighter than red,
  EXPECT_GT(colours[0][1].item<int>(), colours[0][3].item<int>());  // and red than blue
  EXPECT_TRUE(
      read(png_bytes(PNG_FORMAT_GA, 1, 2, {77, 255, 77, 0})).equal(bytes({77, 0}).view({1, 2})));

  EXPECT_ERROR(read("no image"), "a.png is no PNG image");
  EXPECT_ERROR(read(""), "a.png is no PNG image");
  EXPECT_ERROR(read_png(scratch / "none.png"), "none.png");
  for (size_t end = 0; end + 13 < grey.size(); ++end)
    EXPECT_ERROR(read(grey.substr(0, end)), "a.png");
  std::string vast = grey;
  vast.replace(16, 8,
               std::string("\0\1\0\0\0\1\0\0", 8));  // of 65536x65536 pixels, with a wrong checksum
  EXPECT_ERROR(read(vast), "a.png");
}

}  // namespace
}  // namespace isinglass
