// Readers of IDX and .amat files and of the named data sets, on files made here: their contents,
// and one clear error for every way in which a file can be wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/data_files.h"
#include "tests/support/scratch.h"
#include "train/data/dataset.h"
#include "train/data/describe.h"
#include "train/data/formats/amat.h"
#include "train/data/formats/idx.h"
#include "train/data/readers.h"

namespace isinglass::datasets_test {
namespace {

namespace fs = std::filesystem;

torch::Tensor bytes_tensor(const std::vector<int64_t>& shape, const std::vector<uint8_t>& values) {
  return torch::tensor(std::vector<int64_t>(values.begin(), values.end()))
      .to(torch::kUInt8)
      .view(shape);
}

TEST(IdxFiles, ReadsPlainAndGzipped) {
  const Scratch scratch;
  const std::string file = idx_bytes({2, 1, 3}, {0, 1, 2, 3, 4, '\xff'});
  put_file(scratch / "plain", file);
  put_gzip(scratch / "packed.gz", file);
  const torch::Tensor expected = bytes_tensor({2, 1, 3}, {0, 1, 2, 3, 4, 255});
  EXPECT_TRUE(read_idx(scratch / "plain").equal(expected));
  EXPECT_TRUE(read_idx(scratch / "packed.gz").equal(expected));
}

TEST(IdxFiles, EachWrongFileGivesOneErrorThatNamesIt) {
  const Scratch scratch;
  const fs::path file = scratch / "broken-idx";
  const auto expect = [&](const std::string& bytes, const std::string& words) {
    put_file(file, bytes);
    EXPECT_ERROR(read_idx(file), words);
    EXPECT_ERROR(read_idx(file), file.string());
  };
  const std::string good = idx_bytes({2, 2, 2}, "abcdefgh");
  expect("", "is empty");
  expect("hello, I am text", "not an IDX file");
  expect(std::string("\0\0\x08\0", 4), "not an IDX file");
  expect(std::string("\0\0\x0d\x01\0\0\0\x01", 8) + "abcd", "element type 0x0d");
  for (size_t length = 1; length < 4; ++length) expect(good.substr(0, length), "not an IDX file");
  for (size_t length = 4; length < 16; ++length) expect(good.substr(0, length), "IDX header");
  for (size_t length = 16; length < good.size(); ++length) {
    expect(good.substr(0, length),
           fmt::format("2x2x2 elements in its IDX header, but holds {}", length - 16));
  }
  expect(good + "i", "but holds 9");
  expect(idx_bytes({0, 2, 2}, ""), "announces 0x2x2");
  expect(idx_bytes({~0u, ~0u, ~0u}, "abc"), "announces 4294967295x4294967295x4294967295");
}

TEST(IdxFiles, GzipDirectoryAndMissingFileAreErrors) {
  const Scratch scratch;
  put_gzip(scratch / "good.gz", idx_bytes({100}, std::string(100, 'a') + ""));
  std::ifstream in(scratch / "good.gz", std::ios::binary);
  const std::string packed(std::istreambuf_iterator<char>(in), {});
  for (size_t length = 2; length < packed.size(); ++length) {
    put_file(scratch / "cut.gz", packed.substr(0, length));
    EXPECT_ERROR(read_idx(scratch / "cut.gz"), "cut.gz");
  }
  std::string wrong_sum = packed;
  wrong_sum[packed.size() - 6] ^= 1;
  put_file(scratch / "sum.gz", wrong_sum);
  EXPECT_ERROR(read_idx(scratch / "sum.gz"), "corrupt");
  EXPECT_ERROR(read_idx(scratch.folder()), scratch.folder().string());
  EXPECT_ERROR(read_idx(scratch / "none"), "none");
}

TEST(AmatFiles, ReadsLinesOfAnyEnd) {
  const Scratch scratch;
  const torch::Tensor expected = bytes_tensor({2, 3}, {0, 1, 1, 1, 0, 0});
  for (const char* text : {"0 1 1\n1 0 0\n", "0 1 1\n1 0 0", "0 1 1\r\n1 0 0\r\n",
                           "0 1 1 \n1 0 0 \n", "0 1 1\n1 0 0\n\n", "0 1 1\r\n1 0 0\r\n \r\n\n"}) {
    put_file(scratch / "x.amat", text);
    EXPECT_TRUE(read_amat(scratch / "x.amat").equal(expected)) << text;
    put_gzip(scratch / "x.amat.gz", text);
    EXPECT_TRUE(read_amat(scratch / "x.amat.gz").equal(expected)) << text;
  }
}

TEST(AmatFiles, EachWrongFileGivesOneErrorThatNamesTheLine) {
  const Scratch scratch;
  const fs::path file = scratch / "broken.amat";
  const auto expect = [&](const std::string& text, const std::string& words) {
    put_file(file, text);
    EXPECT_ERROR(read_amat(file), words);
    EXPECT_ERROR(read_amat(file), file.string());
  };
  expect("", "is empty");
  expect("0 1 1\n0 x 1\n", "line 2, column 3: expected 0 or 1, found 'x'");
  expect("0 1 2\n", "line 1, column 5: expected 0 or 1, found '2'");
  expect("0 1 1\n0 1\n", "line 2 has 2 pixels; expected 3 as in line 1");
  expect("0 1 1\n0 1 1 0\n", "line 2 has 4 pixels; expected 3 as in line 1");
  expect("0 1 1\n\n0 1 1\n", "line 2 has 0 pixels");
  expect("\n0 1 1\n", "line 1 has 0 pixels");
  expect("\n\n", "line 1 has 0 pixels");
  expect("0  1 1\n", "expected 0 or 1, found ' '");
  expect("011\n", "column 2: expected a space, found '1'");
  expect(std::string("0 \0 1\n", 6), "found byte 0x00");
}

TEST(NamedSets, MissingFileNamesItAndItsAuthors) {
  const Scratch scratch;
  const std::vector<std::pair<std::string, std::string>> wanted = {{"mnist", "LeCun"},
                                                                   {"static-mnist", "Larochelle"},
                                                                   {"omniglot", "Burda"},
                                                                   {"omniglot-standin", "Lake"},
                                                                   {"caltech", "Marlin"}};
  for (const auto& [name, author] : wanted) {
    EXPECT_ERROR(load_dataset(name, scratch.folder()), author);
    EXPECT_ERROR(load_dataset(name, scratch.folder()), scratch.folder().string());
    EXPECT_ERROR(load_dataset(name, scratch.folder()), "is missing");
  }
}

TEST(NamedSets, WrongCountOrSizeSaysWhatWasExpected) {
  const Scratch scratch;
  put_file(scratch / "mnist/train-images-idx3-ubyte", idx_bytes({2, 1, 2}, "abcd"));
  EXPECT_ERROR(load_dataset("mnist", scratch.folder()), "2x1x2; expected 60000 images of 28x28");
  put_file(scratch / "static_mnist/binarized_mnist_train.amat", "0 1\n1 1\n");
  EXPECT_ERROR(load_dataset("static-mnist", scratch.folder()), "expected 50000 images of 28x28");
  put_file(scratch / "caltech/caltech28-split1-train-images-idx3-ubyte",
           idx_bytes({4100, 28, 28}, std::string(4100 * 784, '\xff')));
  EXPECT_ERROR(load_dataset("caltech", scratch.folder()), "silhouettes are binary");
  fs::create_directory(scratch / "omniglot");
  fs::create_directory(scratch / "omniglot/chardata.mat");
  EXPECT_ERROR(load_dataset("omniglot", scratch.folder()), "chardata.mat");
}

// Returns images of 784 pixels in which one of `every` pixels has the value `ink`.
std::string speckled(size_t count, size_t every, char ink) {
  std::string pixels(784 * count, '\0');
  for (size_t i = 0; i < pixels.size(); i += every) pixels[i] = ink;
  return pixels;
}

// Another set in files of the same names and shapes has another mean.
TEST(NamedSets, OtherImagesThanThePublishedAreRefused) {
  const Scratch scratch;
  const auto put = [&](const std::string& name, uint32_t count, const std::string& pixels) {
    put_file(scratch / "mnist" / name, idx_bytes({count, 28, 28}, pixels));
  };
  put("train-images-idx3-ubyte", 60000, std::string(60000 * size_t{784}, '\xdd'));
  EXPECT_ERROR(load_dataset("mnist", scratch.folder()),
               "train-images-idx3-ubyte is not a file of MNIST: the mean of its pixels is 0.8667, "
               "but 0.1307 in the published data");
  const std::string tenth = speckled(60000, 2, 67);  // a mean of 67 / 510
  put("train-images-idx3-ubyte", 60000, tenth);
  put("t10k-images-idx3-ubyte", 10000, tenth.substr(0, 7840000));
  EXPECT_ERROR(load_dataset("mnist", scratch.folder()),
               "the validation and test images are the same");
  std::string other = tenth.substr(0, 7840000);
  std::rotate(other.begin(), other.begin() + 1, other.end());
  put("t10k-images-idx3-ubyte", 10000, other);
  EXPECT_EQ(load_dataset("mnist", scratch.folder()).test.size(0), 10000);  // with the right mean
}

// One array of chardata.mat: image n holds the binary digits of n down its first column, 784xN.
std::string character_array(const std::string& name, uint32_t count) {
  std::string values(784 * size_t{count}, '\0');
  for (size_t n = 0; n < count; ++n) {
    for (size_t bit = 0; bit < 15; ++bit) values[784 * n + bit] = static_cast<char>(n >> bit & 1);
  }
  constexpr uint32_t kDouble = 6, kStoredAsBytes = 2;
  return mat_compressed(
      mat_array(name, kDouble, {784, count}, mat_element(kStoredAsBytes, values)));
}

TEST(NamedSets, OmniglotIsTransposedAndSplit) {
  const Scratch scratch;
  put_file(scratch / "omniglot/chardata.mat",
           mat_header() + character_array("data", 24345) + character_array("testdata", 8070));
  const Dataset data = load_dataset("omniglot", scratch.folder());
  const auto numbers = [](const torch::Tensor& images) {
    const torch::Tensor digits = images.view({-1, 28, 28}).select(2, 0).narrow(1, 0, 15) / 255;
    return digits.to(torch::kInt64).mul(torch::pow(2, torch::arange(15))).sum(1);
  };
  EXPECT_EQ(data.values, PixelValues::kGrey);
  EXPECT_EQ(data.train.size(0), 23000);
  EXPECT_EQ(data.validation.size(0), 1345);
  EXPECT_TRUE(numbers(data.test).equal(torch::arange(8070)));
  const torch::Tensor all = numbers(torch::cat({data.train, data.validation}));
  EXPECT_FALSE(all.equal(torch::arange(24345)));
  EXPECT_TRUE(std::get<0>(all.sort()).equal(torch::arange(24345)));
}

TEST(NamedSets, UnknownNameListsTheNearestFirst) {
  EXPECT_ERROR(load_dataset("mnits", "data"), "unknown data set 'mnits'; known: mnist, ");
  EXPECT_ERROR(load_dataset("no/such.pt", "data"), "no/such.pt");
}

TEST(Binarise, KeepsBinaryImages) {
  const torch::Tensor images = bytes_tensor({1, 2}, {0, 1});
  EXPECT_TRUE(binarise_once(images, PixelValues::kBinary, 0).equal(images));
}

TEST(Binarise, DrawsEachPixelOnceFromItsGreyLevel) {
  constexpr int64_t kImages = 20000;
  const torch::Tensor levels = bytes_tensor({1, 5}, {0, 1, 51, 204, 255});
  const torch::Tensor images = levels.expand({kImages, 5});
  const torch::Tensor binary = binarise_once(images, PixelValues::kGrey, 1);
  EXPECT_EQ(values_of(binary), PixelValues::kBinary);
  const torch::Tensor mean = binary.to(torch::kFloat64).mean(0);
  const torch::Tensor p = levels[0].to(torch::kFloat64) / 255;
  const torch::Tensor error = (p * (1 - p) / kImages).sqrt();
  EXPECT_TRUE(((mean - p).abs() <= 5 * error).all().item<bool>()) << mean;
  EXPECT_TRUE(binarise_once(images, PixelValues::kGrey, 1).equal(binary));
  EXPECT_FALSE(binarise_once(images, PixelValues::kGrey, 2).equal(binary));
}

TEST(ClampedMean, OfBinaryAndGreyImages) {
  Dataset data;
  data.train = bytes_tensor({2, 3}, {0, 1, 1, 0, 0, 1});
  EXPECT_TRUE(clamped_mean(data).allclose(torch::tensor({0.01f, 0.5f, 0.99f}), 0, 1e-7));
  data.values = PixelValues::kGrey;
  data.train = bytes_tensor({2, 3}, {0, 255, 255, 0, 0, 255});
  EXPECT_TRUE(clamped_mean(data).allclose(torch::tensor({0.01f, 0.5f, 0.99f}), 0, 1e-7));
  data.values = PixelValues::kReal;  // as load_points gives grey levels
  data.train = torch::tensor({{0.0f, 0.25f, 0.75f}, {0.5f, 0.25f, 0.875f}});
  EXPECT_TRUE(clamped_mean(data).allclose(torch::tensor({0.255f, 0.255f, 0.80625f}), 0, 1e-7));
}

// Frequencies·0.98 + 0.02 / K; for two values the result equals that of binary images.
TEST(ClampedMean, OfCategories) {
  Dataset data;
  data.values = PixelValues::kCategorical;
  data.categories = 4;
  data.train = bytes_tensor({4, 2}, {0, 3, 0, 3, 2, 3, 0, 3});
  const torch::Tensor expected =
      torch::tensor({{0.74, 0.005, 0.25, 0.005}, {0.005, 0.005, 0.005, 0.985}}, torch::kFloat64);
  EXPECT_TRUE(clamped_mean(data).allclose(expected, 0, 1e-12)) << clamped_mean(data);
  data.categories = 2;
  data.train = bytes_tensor({2, 3}, {0, 1, 1, 0, 0, 1});
  const torch::Tensor of_two = clamped_mean(data).select(1, 1).to(torch::kFloat32);
  data.values = PixelValues::kBinary;
  EXPECT_TRUE(of_two.allclose(clamped_mean(data), 0, 1e-7));
}

// A single level in the middle becomes a Gaussian; at an end, a Gaussian folded over it.
TEST(Smoothed, SpreadsLevelsAndKeepsSums) {
  const int64_t levels = 40;
  torch::Tensor frequencies = torch::zeros({3, levels}, torch::kFloat64);
  frequencies[0][20] = 1;
  frequencies[1][0] = 0.5;
  frequencies[2].fill_(1.0 / levels);
  const torch::Tensor spread = smoothed(frequencies, 1.5);
  EXPECT_TRUE(spread.sum(1).allclose(frequencies.sum(1), 0, 1e-12));
  EXPECT_TRUE(spread[2].allclose(frequencies[2], 1e-12, 0));  // a uniform row stays uniform
  const auto gaussian = [](double d) { return std::exp(-0.5 * d * d / (1.5 * 1.5)); };
  double all = 0, folded = 0;
  for (int64_t v = 0; v < levels; ++v) {
    all += gaussian(static_cast<double>(v - 20));
    folded += gaussian(static_cast<double>(v)) + gaussian(static_cast<double>(v + 1));
  }
  for (const int64_t v : {0, 1, 5, 19, 20, 23}) {
    const auto d = static_cast<double>(v);
    EXPECT_NEAR(spread[0][v].item<double>(), gaussian(d - 20) / all, 1e-12);
    EXPECT_NEAR(spread[1][v].item<double>(), 0.5 * (gaussian(d) + gaussian(d + 1)) / folded, 1e-12);
  }
}

TEST(DataSha256, TellsCategoriesFromGreyLevels) {
  Dataset data;
  data.train = data.validation = data.test = bytes_tensor({1, 2}, {0, 200});
  data.values = PixelValues::kGrey;
  const std::string grey = data_sha256(data);
  data.values = PixelValues::kCategorical;
  data.categories = 256;
  EXPECT_NE(data_sha256(data), grey);
}

TEST(Describe, IdxAndAmat) {
  const Scratch scratch;
  std::string pixels(140, '\0');
  pixels.back() = '\x0e';
  put_gzip(scratch / "images.gz", idx_bytes({70, 1, 2}, pixels));
  const auto idx = describe_data_file(scratch / "images.gz");
  ASSERT_TRUE(idx.has_value());
  EXPECT_EQ(idx->format, "IDX");
  EXPECT_EQ(idx->shape, (std::vector<int64_t>{70, 1, 2}));
  EXPECT_EQ(idx->max, 14);
  EXPECT_DOUBLE_EQ(idx->mean, 0.1);
  EXPECT_EQ(idx->images.sizes(), torch::IntArrayRef({64, 2}));
  EXPECT_EQ(idx->scale, 1);
  put_file(scratch / "labels", idx_bytes({2}, "ab"));
  EXPECT_EQ(describe_data_file(scratch / "labels")->images.numel(), 0);
  put_file(scratch / "x.amat", "0 1\n1 1\n");
  const auto amat = describe_data_file(scratch / "x.amat");
  ASSERT_TRUE(amat.has_value());
  EXPECT_EQ(amat->shape, (std::vector<int64_t>{2, 2}));
  EXPECT_DOUBLE_EQ(amat->mean, 0.75);
  EXPECT_EQ(amat->scale, 255);
}

TEST(Describe, LeavesOtherFilesAloneAndRefusesCorruptOnes) {
  const Scratch scratch;
  put_file(scratch / "notes.md", "hello");
  EXPECT_FALSE(describe_data_file(scratch / "notes.md").has_value());
  put_file(scratch / "notes.txt", "hello");
  EXPECT_ERROR(describe_data_file(scratch / "notes.txt"), "notes.txt holds no numbers");
  EXPECT_FALSE(describe_data_file(scratch.folder()).has_value());
  EXPECT_FALSE(describe_data_file(scratch / "none").has_value());
  put_file(scratch / "cut-idx3-ubyte", idx_bytes({2, 2, 2}, "abc"));
  EXPECT_ERROR(describe_data_file(scratch / "cut-idx3-ubyte"), "cut-idx3-ubyte");
  put_file(scratch / "t-idx3-ubyte.gz", "\x1f\x8b");
  EXPECT_ERROR(describe_data_file(scratch / "t-idx3-ubyte.gz"), "t-idx3-ubyte.gz");
}

}  // namespace
}  // namespace isinglass::datasets_test
