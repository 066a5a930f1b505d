// NumPy's .npy and .npz files: types, orders, names, and one clear error for every way in which
// they are wrong.
#include "train/data/formats/npy.h"

#include <gtest/gtest.h>

#include "tests/support/data_files.h"
#include "tests/support/scratch.h"
#include "tests/train/data/numpy_files.h"
#include "train/data/dataset.h"
#include "train/data/describe.h"

namespace isinglass::npy_test {
namespace {

// 1, 2, … in so many bytes each, the lowest or the highest byte first.
std::string numbers(int count, size_t bytes, bool lowest_first = true) {
  std::string all;
  for (int i = 1; i <= count; ++i) {
    std::string number(bytes, '\0');
    number[lowest_first ? 0 : bytes - 1] = static_cast<char>(i);
    all += number;
  }
  return all;
}

TEST(Npy, TypesAndOrders) {
  const torch::Tensor expected = torch::tensor({{1, 2, 3}, {4, 5, 6}});
  for (const std::string type : {"u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"}) {
    const auto size = static_cast<size_t>(type[1] - '0');
    for (const char order : {'<', '>', '|'}) {
      const std::string file = npy_file(1, order + type, "(2, 3)", numbers(6, size, order != '>'));
      if (order == '|' && size > 1) {
        EXPECT_ERROR(npy_array(file, "x"), "x holds an array of type '|" + type + "'");
        continue;
      }
      const torch::Tensor found = npy_array(file, "x");
      EXPECT_TRUE(found.to(torch::kInt64).equal(expected)) << order << type << found;
    }
  }
  const std::string ones(2, '\x3c');
  EXPECT_TRUE(npy_array(npy_file(1, "|b1", "(3,)", std::string("\0\1\2", 3)), "x")
                  .equal(torch::tensor({false, true, true})));
  const float real[] = {0.5F, -1.25F};
  const std::string bytes(reinterpret_cast<const char*>(real), 8);
  EXPECT_TRUE(
      npy_array(npy_file(2, "<f4", "(1, 2)", bytes), "x").equal(torch::tensor({{0.5F, -1.25F}})));
  EXPECT_TRUE(npy_array(npy_file(3, "<f2", "(2,)", std::string("\0\x3c\0\xc0", 4)), "x")
                  .equal(torch::tensor({1.0F, -2.0F})));
  EXPECT_TRUE(npy_array(npy_file(1, ">f8", "(1,)", std::string("\x3f\xf8\0\0\0\0\0\0", 8)), "x")
                  .equal(torch::tensor({1.5}, torch::kFloat64)));
  EXPECT_TRUE(npy_array(npy_file(1, "|u1", "(2, 3)", numbers(6, 1), "True"), "x")
                  .equal(torch::tensor({{1, 3, 5}, {2, 4, 6}}, torch::kUInt8)));
  EXPECT_TRUE(npy_array(npy_file(1, "|u1", "(1L, 3L)", numbers(3, 1)), "x")
                  .equal(torch::tensor({{1, 2, 3}}, torch::kUInt8)));  // as Python 2 wrote it
}

TEST(Npy, OfNumPyIsADataSet) {
  const Scratch scratch;
  const torch::Tensor f = torch::tensor({{.5F, .25F, 1.F}, {0.F, .75F, .125F}});
  put_file(scratch / "f.npy", kNpy);
  put_gzip(scratch / "g.npy.gz", kNpy);
  EXPECT_TRUE(read_npy(scratch / "f.npy").equal(f));
  EXPECT_TRUE(read_npy(scratch / "g.npy.gz").equal(f));
  const Dataset data = load_dataset(scratch / "f.npy", "unused");
  EXPECT_EQ(data.values, PixelValues::kGrey);
  EXPECT_EQ(data.train.sizes(), torch::IntArrayRef({2, 3}));
  EXPECT_TRUE(load_points(scratch / "f.npy", "unused").train.equal(f));
  const auto described = describe_data_file(scratch / "f.npy");
  ASSERT_TRUE(described.has_value());
  EXPECT_EQ(described->format, "NumPy .npy");
  EXPECT_EQ(described->dtype, "Float");
  EXPECT_EQ(described->images.sizes(), torch::IntArrayRef({2, 3}));
}

TEST(Npy, RefusesWhatIsNone) {
  const std::string good = npy_file(1, "|u1", "(2, 3)", numbers(6, 1));
  for (size_t end = 0; end < good.size(); ++end) {
    EXPECT_ERROR(npy_array(std::string_view(good).substr(0, end), "x"), "x ");
  }
  const auto refused = [](const std::string& type, const std::string& shape, const char* words) {
    EXPECT_ERROR(npy_array(npy_file(1, type, shape, "abcdef"), "x"), words);
  };
  refused("|O", "(2, 3)", "x holds an array of type '|O'");
  refused("<U3", "(2, 3)", "x holds an array of type '<U3'");
  refused("<c8", "(2, 3)", "x holds an array of type '<c8'");
  refused("|u1", "(2, 4)", "shape [2, 4] and type |u1, but holds 6 of its 8 bytes");
  refused("|u1", "(0, 3)", "shape [0, 3]");
  refused("|u1", "(4294967296, 4294967296, 4294967296)", "but holds 6 of its");
  refused("|u1", "(-1, 6)", "x is a damaged .npy file");
  refused("|u1", "(99999999999999999999,)", "x is a damaged .npy file");
  refused("|u1", "2", "x is a damaged .npy file");
  EXPECT_ERROR(npy_array(npy_file(1, "<f4", "(0, 3)", ""), "x"),
               "x holds an array of shape [0, 3], which has no values");
  EXPECT_ERROR(npy_array(npy_file(4, "|u1", "(6,)", "abcdef"), "x"),
               "its format version is above 3");
  std::string records = npy_file(1, "|u1", "(2, 3)", "abcdef");
  records.replace(records.find("'|u1'"), 5, "[('a'");
  EXPECT_ERROR(npy_array(records, "x"), "x holds records of several numbers each");
}

TEST(Npz, ArraysByTheirNames) {
  const Scratch scratch;
  const torch::Tensor a = torch::tensor({{0, 200, 255}, {1, 10, 128}}, torch::kUInt8);
  for (const std::string& bytes : {kNpz, kNpzDeflated}) {
    put_file(scratch / "x.npz", bytes);
    const Dataset data = load_dataset(scratch / "x.npz", "unused");
    EXPECT_TRUE(data.train.equal(a));
    EXPECT_TRUE(data.test.equal(torch::tensor({{128, 64, 255}, {0, 191, 32}}, torch::kUInt8)));
    EXPECT_EQ(data.validation.size(0), 0);
    EXPECT_TRUE(data.labels.equal(torch::tensor({7, 3})));
    const auto described = describe_data_file(scratch / "x.npz");
    ASSERT_TRUE(described.has_value());
    EXPECT_EQ(described->shape, (std::vector<int64_t>{2, 3}));
    for (size_t end = 0; end < bytes.size(); ++end) {
      put_file(scratch / "cut.npz", bytes.substr(0, end));
      EXPECT_ERROR(load_dataset(scratch / "cut.npz", "unused"), "cut.npz");
    }
    for (size_t at = 64; at < 100; ++at) {  // inside the first record
      std::string changed = bytes;
      changed[at] ^= 1;
      put_file(scratch / "changed.npz", changed);
      EXPECT_ERROR(load_dataset(scratch / "changed.npz", "unused"), "changed.npz");
    }
  }
  put_file(scratch / "x.npz", "no archive");
  EXPECT_ERROR(load_dataset(scratch / "x.npz", "unused"), "x.npz is not an .npz file");
}

}  // namespace
}  // namespace isinglass::npy_test
