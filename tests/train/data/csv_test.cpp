// Tables of numbers as text: separators, lines of names, missing values, what is refused, and how
// such a file becomes a data set.
#include "train/data/formats/csv.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/data_files.h"
#include "tests/support/scratch.h"
#include "train/data/describe.h"
#include "train/data/own_images.h"

namespace isinglass::csv_test {
namespace {

class Csv : public ::testing::Test {
 protected:
  torch::Tensor read(const std::string& text, const char* name = "x.csv") {
    put_file(scratch_ / name, text);
    return read_csv(scratch_ / name);
  }

  const Scratch scratch_;
};

TEST_F(Csv, SeparatorsAndLineEnds) {
  const torch::Tensor expected = torch::tensor({{0, 1, 2}, {3, -4, 5}}, torch::kInt64);
  for (const char* text :
       {"0,1,2\n3,-4,5\n", "0;1;2\n3;-4;5", "0 1 2\n3  -4 5\n", "0\t1\t2\r\n3\t-4\t5\r\n",
        "\xef\xbb\xbf"
        "0, 1, 2\n\n3, -4, 5\n\n",
        "# made by hand\n0,1,2\n3,-4,+5\n", "\"0\",\"1\",\"2\"\n3,-4,5\n"}) {
    EXPECT_TRUE(read(text).equal(expected)) << text;
  }
  put_gzip(scratch_ / "x.csv.gz", "0,1,2\n3,-4,5\n");
  EXPECT_TRUE(read_csv(scratch_ / "x.csv.gz").equal(expected));
  const torch::Tensor real = read("0.5,1e-3\n-2,3.25\n");
  EXPECT_TRUE(real.equal(torch::tensor({{0.5, 1e-3}, {-2., 3.25}}, torch::kFloat64)));
  EXPECT_EQ(read("1.0\n2.0\n").scalar_type(), torch::kFloat64);
}

TEST_F(Csv, ALineOfNamesMayComeFirst) {
  const torch::Tensor expected = torch::tensor({{0, 1}, {1, 1}}, torch::kInt64);
  for (const char* names : {"a,b\n", "pixel 1;pixel 2\n", "\"x\",\"y\"\n", "label,1\n", ",b\n"}) {
    EXPECT_TRUE(read(names + std::string("0,1\n1,1\n")).equal(expected)) << names;
  }
  std::string counted, ones;  // as pandas writes columns without names
  for (int i = 0; i < 16; ++i) {
    counted += (i ? "," : "") + std::to_string(i);
    ones += i ? ",1" : "1";
  }
  EXPECT_TRUE(read(counted + "\n" + ones + "\n").equal(torch::ones({1, 16}, torch::kInt64)));
  EXPECT_EQ(read("0,1,2,3\n1,0,3,2\n").size(0), 2);
}

TEST_F(Csv, EmptyFieldsAreMissingValues) {
  const torch::Tensor values = read("0,,1\n,1,nan\n");
  EXPECT_TRUE(torch::isnan(values).equal(
      torch::tensor({{0, 1, 0}, {1, 0, 1}}, torch::kInt64).to(torch::kBool)));
  EXPECT_TRUE(values.nan_to_num(7).equal(torch::tensor({{0, 7, 1}, {7, 1, 7}}, torch::kFloat64)));
  const Dataset data = load_dataset(scratch_ / "x.csv", "unused");
  EXPECT_EQ(data.missing.sum().item<int64_t>(), 3);
  EXPECT_EQ(data.values, PixelValues::kBinary);
}

TEST_F(Csv, RefusesOtherTexts) {
  const auto file = [&] { return (scratch_ / "x.csv").string(); };
  EXPECT_ERROR(read("0,1\n1,x\n"), file() +
                                       ": line 2: 'x' is not a finite number; a missing value "
                                       "is an empty field or nan");
  EXPECT_ERROR(read("a,b\n0,1\n\n1,inf\n"), "line 4: 'inf' is not a finite number");
  EXPECT_ERROR(read("0,1\n1\n"), "line 2 has 1 numbers; expected 2 as in line 1");
  EXPECT_ERROR(read("0,1,\n1,1,\n"), "column 3 holds no number");
  EXPECT_ERROR(read("1,NA\n1,1\n"), "line 1: 'NA' is not a finite number");
  for (const char* text : {"", "\n\n", "a,b\n", "# a\n"})
    EXPECT_ERROR(read(text), "holds no numbers");
  EXPECT_ERROR(read(std::string("0,1\n\0,1\n", 8)), "is not a table of numbers");
}

TEST_F(Csv, AreDataSets) {
  for (const char* name : {"x.csv", "x.tsv", "x.txt", "x.dat"}) {
    read("0,1,1,0\n1,1,0,0\n", name);
    const Dataset bits = load_dataset(scratch_ / name, "unused");
    EXPECT_EQ(bits.values, PixelValues::kBinary);
    EXPECT_EQ(std::pair(bits.height, bits.width), std::pair(int64_t{2}, int64_t{2}));
  }
  read("0,255\n7,1\n");
  EXPECT_EQ(load_dataset(scratch_ / "x.csv", "unused").values, PixelValues::kGrey);
  read("0,2\n1,1\n");
  EXPECT_EQ(load_dataset(scratch_ / "x.csv", "unused", 3).categories, 3);
  const torch::Tensor points = read("x,y\n0.5,-3\n2,1\n");
  EXPECT_TRUE(load_points(scratch_ / "x.csv", "unused").train.equal(points.to(torch::kFloat32)));
  const auto described = describe_data_file(scratch_ / "x.csv");
  ASSERT_TRUE(described);
  EXPECT_EQ(described->format, "CSV text");
  EXPECT_EQ(described->shape, (std::vector<int64_t>{2, 2}));
  EXPECT_DOUBLE_EQ(described->min, -3);
}

}  // namespace
}  // namespace isinglass::csv_test
