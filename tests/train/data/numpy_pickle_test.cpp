// Arrays that Python 2 pickled, and the set that is published as one.
#include "train/data/formats/numpy_pickle.h"

#include <gtest/gtest.h>

#include "tests/support/data_files.h"
#include "tests/support/scratch.h"
#include "train/data/dataset.h"
#include "train/data/describe.h"

namespace isinglass {
namespace {

torch::Tensor read(const std::string& bytes) {
  const Scratch scratch;
  put_file(scratch / "array.pkl", bytes);
  return read_numpy_pickle(scratch / "array.pkl");
}

TEST(NumpyPickle, HasShapeAndBytes) {
  const torch::Tensor found = read(numpy_pickle("I2\nI3\n", R"(a\x00\xff\n\'\\)"));
  EXPECT_TRUE(found.equal(torch::tensor({{97, 0, 255}, {10, 39, 92}}, torch::kUInt8))) << found;
  std::string quoted = numpy_pickle("I1\n", "@");
  quoted.replace(quoted.find("'@'"), 3, "\"'\"");
  EXPECT_EQ(read(quoted).item<int>(), 39);
  const std::string all = numpy_pickle("I3\n", "abc");  // the array alone, in no list
  EXPECT_EQ(read(all.substr(5, all.size() - 7) + ".").size(0), 3);
}

TEST(NumpyPickle, RefusesWhatIsNone) {
  const std::string good = numpy_pickle("I2\nI3\n", "abcdef");
  EXPECT_ERROR(read(""), "array.pkl is no pickle of protocol 0 of an array of bytes");
  EXPECT_ERROR(read("\x80\x02]q"), "its byte 0 is no opcode of one");
  for (size_t end = 0; end < good.size(); ++end) EXPECT_ERROR(read(good.substr(0, end)), "array");
  EXPECT_ERROR(read(numpy_pickle("I2\nI3\n", "abcde")), "5 bytes for 6 elements");
  EXPECT_ERROR(read(numpy_pickle("I-2\nI3\n", "abcdef")), "has no shape");
  EXPECT_ERROR(read(numpy_pickle("I9999999999\nI9999999999\n", "a")), "1 bytes for");
  EXPECT_ERROR(read(numpy_pickle("I1\n", "a", "f8")), "another type");
  EXPECT_ERROR(read(numpy_pickle("I1\n", "\\x0")), "damaged string");
  EXPECT_ERROR(read("I1\n."), "it holds no array");
}

std::string times(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

// A list that holds itself, as it was, forty times over; lists in lists; one that is kept again and again.
TEST(NumpyPickle, StaysSmall) {
  for (const std::string& bytes :
       {"(lp0\n" + times(40, "g0\nap0\n"), times(1000000, "(l") + times(999999, "a"),
        "(" + times(500, "I1\n") + "l" + times(100000, "p0\n")}) {
    EXPECT_ERROR(read(bytes + "."), "it holds too many values");
  }
}

TEST(NumpyPickle, CallsNothing) {
  EXPECT_ERROR(read("cos\nsystem\n(S'true'\ntR."), "a pickle that names os system; only arrays");
}

TEST(FreyFaces, WrongOrMissingFilesAreNamed) {
  const Scratch scratch;
  EXPECT_ERROR(load_dataset("freyfaces", scratch.folder()),
               "freyfaces/freyfaces-images-idx3-ubyte (or the same with .gz) is missing");
  EXPECT_ERROR(load_dataset("freyfaces", scratch.folder()), "derived from freyfaces.pkl");
  put_file(scratch / "freyfaces/freyfaces.pkl", numpy_pickle("I2\nI3\n", "abcdef"));
  EXPECT_ERROR(load_dataset("freyfaces", scratch.folder()),
               "freyfaces.pkl holds an array of 2x3; expected 1965 images of 28x20");
  const auto described = describe_data_file(scratch / "freyfaces/freyfaces.pkl");
  ASSERT_TRUE(described.has_value());
  EXPECT_EQ(described->format, "NumPy pickle");
  EXPECT_EQ(described->shape, (std::vector<int64_t>{2, 3}));
}

}  // namespace
}  // namespace isinglass
