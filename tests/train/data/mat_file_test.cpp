// MATLAB 5 files made here byte by byte: values, layouts, and files that are cut at every length or
// damaged at random.
#include "train/data/formats/mat_file.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/data_files.h"
#include "tests/support/fuzzing.h"
#include "tests/support/scratch.h"
#include "train/data/describe.h"

namespace isinglass::mat_file_test {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kCell = 1, kStruct = 2, kChar = 4, kDouble = 6, kUint8 = 9;
constexpr uint32_t kLogical = 0x0200, kComplex = 0x0800;

std::string as_bytes(const std::vector<double>& values) {
  return {reinterpret_cast<const char*>(values.data()), 8 * values.size()};
}

// Doubles stored as bytes (as MATLAB stores small integers) and as doubles, a logical array, a cell
// array of text, and last the array that the tests of damage read.
std::vector<std::string> small_arrays() {
  const std::string text = mat_array("", kChar, {1, 5}, mat_element(16, "label"));
  return {
      mat_array("names", kCell, {1, 2}, text + text),
      mat_array("stored_small", kDouble, {2, 3}, mat_element(2, {1, 2, 3, 4, 5, '\xff'})),
      mat_array("X", kUint8 | kLogical, {1, 2}, mat_element(2, {1, 0})),
      mat_array("last", kDouble, {2, 2}, mat_element(9, as_bytes({0.25, -1e300, 3, 4}))),
  };
}

std::string small_file(bool compressed) {
  std::string bytes = mat_header();
  for (const std::string& array : small_arrays()) {
    bytes += compressed ? mat_compressed(array) : array;
  }
  return bytes;
}

TEST(MatFiles, ReadsArraysColumnMajor) {
  const Scratch scratch;
  for (const bool compressed : {false, true}) {
    put_file(scratch / "x.mat", small_file(compressed));
    const std::vector<MatArray> arrays = mat_arrays(scratch / "x.mat");
    ASSERT_EQ(arrays.size(), 3u);
    EXPECT_EQ(arrays[1].name, "X");
    EXPECT_EQ(arrays[1].type, "logical");
    EXPECT_EQ(arrays[0].type, "double");
    const auto read = [&](const char* name) { return read_mat_array(scratch / "x.mat", name); };
    const auto matrix = [](const std::vector<double>& rows, int64_t columns) {
      return torch::tensor(rows, torch::kFloat64).view({-1, columns});
    };
    EXPECT_TRUE(read("stored_small").equal(matrix({1, 3, 5, 2, 4, 255}, 3)));
    EXPECT_TRUE(read("X").equal(matrix({1, 0}, 2)));
    EXPECT_TRUE(read("last").equal(matrix({0.25, 3, -1e300, 4}, 2)));
    EXPECT_ERROR(read("absent"), "has no numeric array 'absent'; it has: stored_small, X, last");
  }
}

template <class T>
std::string stored_as(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), sizeof(T) * values.size()};
}

// Values are stored as every number type, at the ends of its range.
TEST(MatFiles, ReadsEveryTypeOfNumber) {
  const Scratch scratch;
  const auto expect = [&]<class T>(uint32_t stored, T) {
    using Limits = std::numeric_limits<T>;
    const std::vector<T> values = {Limits::lowest(), Limits::max(), T(3)};
    put_file(scratch / "x.mat", mat_header() + mat_array("A", kDouble, {3, 1},
                                                         mat_element(stored, stored_as(values))));
    const std::vector<double> expected(values.begin(), values.end());
    EXPECT_TRUE(read_mat_array(scratch / "x.mat", "A")
                    .equal(torch::tensor(expected, torch::kFloat64).view({3, 1})))
        << stored;
  };
  expect(1, int8_t());
  expect(2, uint8_t());
  expect(3, int16_t());
  expect(4, uint16_t());
  expect(5, int32_t());
  expect(6, uint32_t());
  expect(7, float());
  expect(9, double());
  expect(12, int64_t());
  expect(13, uint64_t());
  put_file(scratch / "x.mat",
           mat_header() + mat_array("A", kDouble, {2, 1}, mat_element(16, "ab")));
  EXPECT_ERROR(read_mat_array(scratch / "x.mat", "A"), "holds 2 bytes of type 16");
}

TEST(MatFiles, ImagesAreTransposedFromEitherLayout) {
  const torch::Tensor image = torch::arange(9, torch::kFloat64);  // row-major
  const torch::Tensor stored = image.view({3, 3}).t().reshape({1, 9});
  EXPECT_TRUE(mat_images("x.mat", stored, 3).equal(image.view({1, 9})));
  EXPECT_TRUE(mat_images("x.mat", stored.t(), 3).equal(image.view({1, 9})));
  EXPECT_ERROR(mat_images("x.mat", torch::zeros({8, 8}), 3), "8x8; expected Nx9 or 9xN");
}

TEST(MatFiles, CutAtEveryLengthIsAnError) {
  const Scratch scratch;
  for (const bool compressed : {false, true}) {
    const std::string whole = small_file(compressed);
    for (size_t length = 0; length < whole.size(); ++length) {
      put_file(scratch / "cut.mat", whole.substr(0, length));
      EXPECT_ERROR(read_mat_array(scratch / "cut.mat", "last"), "cut.mat");
    }
  }
}

// Damage after the header: zlib's checksum detects it in compressed arrays. In others the values
// may change, but nothing crashes, prints or reads out of bounds.
TEST(MatFiles, RandomDamageNeverCrashes) {
  const Scratch scratch;
  const torch::Tensor expected = torch::tensor({{0.25, 3.0}, {-1e300, 4.0}}, torch::kFloat64);
  Fuzzing fuzzing(4000);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  size_t errors = 0, intact = 0;
  for (int trial = 0; fuzzing.next(); ++trial) {
    const bool compressed = trial % 2 == 0;
    std::string bytes = small_file(compressed);
    const size_t flips = 1 + fuzzing.random() % 3;
    for (size_t i = 0; i < flips; ++i) {
      bytes[128 + fuzzing.random() % (bytes.size() - 128)] = static_cast<char>(fuzzing.random());
    }
    put_file(scratch / "x.mat", bytes);
    try {
      const torch::Tensor values = read_mat_array(scratch / "x.mat", "last");
      ++intact;
      EXPECT_TRUE(!compressed || values.equal(expected));
    } catch (const Error&) {
      ++errors;
    }
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_GT(errors, 2000u);  // every damaged compressed file, and some of the others
  EXPECT_GT(intact, 100u);
}

TEST(MatFiles, ContradictionsAreErrors) {
  const Scratch scratch;
  const fs::path file = scratch / "x.mat";
  const auto expect = [&](const std::string& array, const std::string& words) {
    for (const std::string& element : {array, mat_compressed(array)}) {
      put_file(file, mat_header() + element);
      EXPECT_ERROR(read_mat_array(file, "A"), words);
    }
  };
  const std::string two = mat_element(2, {1, 2});
  expect(mat_array("A", kDouble, {100, 784}, two), "of 78400 elements holds 2 bytes");
  expect(mat_array("A", kDouble, {0xffffffff, 2}, two), "a size of -1");
  expect(mat_array("A", kDouble, {0x7fffffff, 0x7fffffff}, two), "2147483647x2147483647");
  expect(mat_array("A", kDouble, {0x7fffffff, 0x7fffffff, 0x7fffffff, 0}, mat_element(9, "")),
         "2147483647x0");
  expect(mat_array("A", kDouble, {2}, two), "no valid dimensions");
  expect(mat_array("A", kDouble | kComplex, {1, 2}, two + two), "not an array of real numbers");
  expect(mat_array("A", kStruct, {1, 1}, two), "not an array of real numbers");
  expect(mat_array("A", kDouble, {1, 2}, two + two), "bytes follow the values");
  expect(mat_array("A", kCell, {1, 2}, mat_array("", kDouble, {1, 2}, two)), "ends inside");
  expect(mat_array(std::string(64, 'A'), kDouble, {1, 2}, two), "no valid name");
  expect(mat_element(6, little_endian({1, 2})), "in place of a variable");
  std::string deep = mat_array("", kDouble, {1, 2}, two);
  for (int i = 0; i < 100; ++i) deep = mat_array("A", kCell, {1, 1}, deep);
  expect(deep, "nests cell arrays deeper than");
}

TEST(MatFiles, OtherHeadersAreErrors) {
  const Scratch scratch;
  const fs::path file = scratch / "x.mat";
  const auto expect = [&](const std::string& bytes, const std::string& words) {
    put_file(file, bytes);
    EXPECT_ERROR(mat_arrays(file), words);
  };
  expect("", "not a MATLAB 5 file");
  expect("\x89HDF\r\n", "not a MATLAB 5 file");
  expect(mat_header().substr(0, 127), "truncated inside its header");
  expect(mat_header().substr(0, 124) + std::string("\x01\0MI", 4), "not a little-endian");
  EXPECT_ERROR(mat_arrays(scratch.folder()), scratch.folder().string());
}

TEST(MatFiles, DescribesTheLargestArray) {
  const Scratch scratch;
  std::string pixels(3 * 784, '\0');
  pixels[2] = 1;  // image 2, row 0, column 0
  pixels[3] = 1;  // image 0, position 1: row 1, column 0
  put_file(scratch / "x.mat", mat_header() + small_arrays()[1] +
                                  mat_array("data", kDouble, {3, 784}, mat_element(2, pixels)));
  const auto description = describe_data_file(scratch / "x.mat");
  ASSERT_TRUE(description.has_value());
  EXPECT_EQ(description->format, "MATLAB 5, array 'data'");
  EXPECT_EQ(description->shape, (std::vector<int64_t>{3, 784}));
  EXPECT_EQ(description->dtype, "double");
  EXPECT_EQ(description->images.nonzero().size(0), 2);
  EXPECT_EQ(description->images[2][0].item<int>(), 1);
  EXPECT_EQ(description->images[0][28].item<int>(), 1);
}

}  // namespace
}  // namespace isinglass::mat_file_test
