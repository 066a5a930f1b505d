#include "io/picture.h"

#include <gtest/gtest.h>
#include <png.h>

#include <cmath>

#include "io/files.h"
#include "tests/support/png_bytes.h"
#include "tests/support/scratch.h"

namespace isinglass::picture_test {
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

// Returns every `factor`-th row and column of a picture's images of `height` and `width` pixels
// without the frame, [rows·height/factor, columns·width/factor], and expects that all pixels of a
// square of this side are alike.
torch::Tensor reduced(const torch::Tensor& picture, int64_t height, int64_t width, int64_t factor) {
  const auto places = [&](int64_t size, int64_t side) {
    const torch::Tensor all = torch::arange(size);
    return all.masked_select(all.remainder(side + 1) != 0);
  };
  const torch::Tensor images = picture.index_select(0, places(picture.size(0), height))
                                   .index_select(1, places(picture.size(1), width));
  const torch::Tensor small = images.slice(0, 0, {}, factor).slice(1, 0, {}, factor).contiguous();
  EXPECT_TRUE(small.repeat_interleave(factor, 0).repeat_interleave(factor, 1).equal(images));
  return small;
}

TEST(Picture, ThreeImagesInTwoColumns) {
  const Scratch scratch;
  const torch::Tensor images = bytes({1, 0, 1, 0, 1, 1, 0, 0, 1}).view({3, 3});
  const torch::Tensor wide = images.repeat_interleave(10, 1);  // 1x30 pixels each
  write_picture_grid(scratch / "grid.png", wide, 1, 30, 2);
  const int64_t f = 96, w = 255;
  const torch::Tensor picture = decoded(scratch / "grid.png");
  EXPECT_EQ(picture.sizes(), (std::vector<int64_t>{5, 63}));
  EXPECT_TRUE(reduced(picture, 1, 30, 1)
                  .slice(1, 0, {}, 10)
                  .equal(bytes({w, 0, w, 0, w, w, 0, 0, w, f, f, f}).view({2, 6})));
  for (const int64_t row : {0, 2, 4}) EXPECT_TRUE((picture[row] == f).all().item<bool>());
  for (const int64_t column : {0, 31, 62}) {
    EXPECT_TRUE((picture.select(1, column) == f).all().item<bool>());
  }
}

// Images whose longer side has fewer than 28 pixels are enlarged by a whole factor; long and narrow
// ones are not, because their pictures would be huge.
TEST(Picture, SmallImagesAreEnlarged) {
  const Scratch scratch;
  for (const auto& [height, width, factor] : {std::tuple{4, 4, 7},
                                              {8, 8, 4},
                                              {5, 27, 2},
                                              {3, 28, 1},
                                              {3, 29, 1},
                                              {6, 1, 5},
                                              {784, 1, 1}}) {
    const torch::Tensor images = torch::arange(3 * height * width).remainder(251).to(torch::kUInt8);
    write_picture_grid(scratch / "a.png", images.view({3, height * width}), height, width, 3, 1);
    const torch::Tensor picture = decoded(scratch / "a.png");
    ASSERT_EQ(picture.sizes(),
              (std::vector<int64_t>{height * factor + 2, 3 * (width * factor + 1) + 1}));
    const torch::Tensor expected =
        images.view({3, height, width}).transpose(0, 1).reshape({height, 3 * width});
    EXPECT_TRUE(reduced(picture, height * factor, width * factor, factor).equal(expected));
  }
}

TEST(Picture, GreyLevelsFloatsAndStridesAreDrawnAsTheyAre) {
  const Scratch scratch;
  const auto inside = [&] { return reduced(decoded(scratch / "a.png"), 28, 28, 14); };
  const torch::Tensor expected = bytes({0, 51, 102, 255}).view({2, 2});
  write_picture_grid(scratch / "a.png", expected.view({1, 4}), 2, 2, 10, /*scale=*/1);
  EXPECT_TRUE(torch::equal(inside(), expected));
  EXPECT_EQ(decoded(scratch / "a.png").size(1), 30);  // no more columns than images
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

torch::Tensor read(const std::string& content) {
  const Scratch scratch;
  write_file(scratch / "a.png", content);
  return read_png(scratch / "a.png");
}

constexpr int kGreyType = 0, kColourType = 2, kPaletteType = 3, kGreyAlphaType = 4;

// Every level of a ramp keeps its value, whatever display the file says it is for.
TEST(PngNumbers, NoCurveIsApplied) {
  std::string eight, sixteen;
  std::vector<int64_t> ramp;
  for (int v = 0; v < 256; ++v) {
    ramp.push_back(v);
    eight += static_cast<char>(v);
    sixteen += std::string(2, static_cast<char>(v));  // 257 v
  }
  const std::string srgb = png_chunk("sRGB", std::string(1, '\0'));
  const std::string linear = png_chunk("gAMA", png_number(100000));
  const std::string white = png_number(31270) + png_number(32900);
  const std::string primaries =
      png_chunk("cHRM", white + png_number(70000) + png_number(30000) + png_number(20000) +
                            png_number(70000) + png_number(15000) + png_number(6000));
  const torch::Tensor expected = bytes(ramp).view({1, 256});
  for (const std::string& chunks :
       {std::string(), srgb, linear, png_chunk("gAMA", png_number(45455)), linear + primaries}) {
    EXPECT_TRUE(read(png_file(8, kGreyType, 1, 256, {eight}, chunks)).equal(expected));
    EXPECT_TRUE(read(png_file(16, kGreyType, 1, 256, {sixteen}, chunks)).equal(expected));
  }
}

// Between the levels 16 bits are rounded: round(v / 257).
TEST(PngNumbers, SixteenBitsAreRounded) {
  std::string row;
  std::vector<int64_t> expected;
  for (int v = 0; v < 65536; v += 37) {
    row += static_cast<char>(v >> 8);
    row += static_cast<char>(v & 255);
    expected.push_back(std::llround(v / 257.0));
  }
  const auto width = static_cast<uint32_t>(expected.size());
  EXPECT_TRUE(read(png_file(16, kGreyType, 1, width, {row})).equal(bytes(expected).view({1, -1})));
}

TEST(PngNumbers, FewBitsAreScaledToWhite) {
  EXPECT_TRUE(read(png_file(1, kGreyType, 1, 8, {"\xa5"}))
                  .equal(bytes({255, 0, 255, 0, 0, 255, 0, 255}).view({1, 8})));
  EXPECT_TRUE(
      read(png_file(2, kGreyType, 1, 4, {"\x1b"})).equal(bytes({0, 85, 170, 255}).view({1, 4})));
  EXPECT_TRUE(read(png_file(4, kGreyType, 1, 2, {"\x1e"})).equal(bytes({17, 238}).view({1, 2})));
}

// Luma by ITU-R BT.601, in the integer arithmetic of Pillow's convert("L").
TEST(PngNumbers, ColoursAreLuma) {
  const auto grey = [](int r, int g, int b) {
    return (r * 19595 + g * 38470 + b * 7471 + 32768) >> 16;
  };
  std::string row;
  std::vector<int64_t> expected = {76, 150, 29, 255, 0, 90};
  row += std::string("\xff\0\0\0\xff\0\0\0\xff\xff\xff\xff\0\0\0ZZZ", 18);
  for (int i = 0; i < 500; ++i) {
    const int r = i * 37 % 256, g = i * 101 % 256, b = i * 173 % 256;
    row += {static_cast<char>(r), static_cast<char>(g), static_cast<char>(b)};
    expected.push_back(grey(r, g, b));
  }
  const std::string file =
      png_file(8, kColourType, 1, 506, {row}, png_chunk("gAMA", png_number(100000)));
  EXPECT_TRUE(read(file).equal(bytes(expected).view({1, 506})));
  const std::string palette = png_chunk("PLTE", std::string("\xff\0\0\0\0\xffZZZ", 9));
  EXPECT_TRUE(read(png_file(8, kPaletteType, 1, 3, {std::string("\0\1\2", 3)}, palette))
                  .equal(bytes({76, 29, 90}).view({1, 3})));
}

// A transparent pixel has no single grey level.
TEST(PngNumbers, TransparencyIsRefused) {
  EXPECT_TRUE(read(png_file(8, kGreyAlphaType, 1, 2, {"M\xff\x12\xff"}))
                  .equal(bytes({77, 18}).view({1, 2})));
  const char* words = "a.png has transparent pixels";
  EXPECT_ERROR(read(png_file(8, kGreyAlphaType, 1, 2, {"M\xff\x12\xfe"})), words);
  EXPECT_ERROR(read(png_bytes(PNG_FORMAT_RGBA, 1, 1, {9, 9, 9, 0})), words);
  const std::string palette = png_chunk("PLTE", "ABCDEF");
  const std::string first = png_chunk("tRNS", std::string(1, '\0'));
  EXPECT_ERROR(read(png_file(8, kPaletteType, 1, 1, {std::string(1, '\0')}, palette + first)),
               words);
  EXPECT_EQ(read(png_file(8, kPaletteType, 1, 1, {"\1"}, palette + first)).numel(), 1);
}

TEST(PngNumbers, DamagedFilesAreNamed) {
  const Scratch scratch;
  const std::string grey = png_bytes(PNG_FORMAT_GRAY, 2, 3, {0, 1, 100, 200, 254, 255});
  EXPECT_TRUE(read(grey).equal(bytes({0, 1, 100, 200, 254, 255}).view({2, 3})));
  EXPECT_ERROR(read("no image"), "a.png is not a PNG image");
  EXPECT_ERROR(read(""), "a.png is not a PNG image");
  EXPECT_ERROR(read_png(scratch / "none.png"), "none.png");
  for (size_t end = 0; end + 13 < grey.size(); ++end)
    EXPECT_ERROR(read(grey.substr(0, end)), "a.png");
  std::string vast = grey;
  vast.replace(16, 8,
               std::string("\0\1\0\0\0\1\0\0", 8));  // of 65536x65536 pixels, with a wrong checksum
  EXPECT_ERROR(read(vast), "a.png");
}

}  // namespace
}  // namespace isinglass::picture_test
