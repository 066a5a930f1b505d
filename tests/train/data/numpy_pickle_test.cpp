// Arrays pickled by Python 2 and 3, and the published set in this format.
#include "train/data/formats/numpy_pickle.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/data_files.h"
#include "tests/support/scratch.h"
#include "tests/train/data/numpy_files.h"
#include "tests/train/data/python2_pickles.h"
#include "train/data/dataset.h"
#include "train/data/describe.h"

namespace isinglass::numpy_pickle_test {
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

TEST(NumpyPickle, KeepsTheOrderOfFortran) {
  std::string bytes = numpy_pickle("I2\nI3\n", "abcdef");
  bytes.replace(bytes.find("I00\nS"), 4, "I01\n");
  EXPECT_TRUE(read(bytes).equal(torch::tensor({{97, 99, 101}, {98, 100, 102}}, torch::kUInt8)));
}

TEST(NumpyPickle, ADictionaryOfLists) {
  const Scratch scratch;
  for (const std::string& bytes : {kPickledSplits0, kPickledSplits1, kPickledSplits2}) {
    put_gzip(scratch / "splits.pkl", bytes);
    const auto found = read_numpy_dictionary(scratch / "splits.pkl");
    ASSERT_EQ(found.size(), 3u);
    const auto real = torch::kFloat64;
    EXPECT_TRUE(found.at("training")
                    .equal(torch::tensor({0., .5, 1., .25, .1, .2, .3, .4}, real).view({2, 2, 2})));
    EXPECT_TRUE(
        found.at("validation").equal(torch::tensor({.75, 0., 0., 1.}, real).view({1, 2, 2})));
    EXPECT_TRUE(found.at("test").equal(torch::tensor({1., 1., 0., .125}, real).view({1, 2, 2})));
    EXPECT_ERROR(read_numpy_pickle(scratch / "splits.pkl"),
                 "it holds a value that is not an array");
    const auto described = describe_data_file(scratch / "splits.pkl");
    ASSERT_TRUE(described.has_value());
    EXPECT_EQ(described->format, "NumPy pickle, array 'training'");
    EXPECT_EQ(described->dtype, "Double");
    EXPECT_EQ(described->images.sizes(), torch::IntArrayRef({2, 4}));
    for (size_t end = 0; end < bytes.size(); ++end) {
      put_file(scratch / "cut.pkl", bytes.substr(0, end));
      EXPECT_ERROR(read_numpy_dictionary(scratch / "cut.pkl"), "cut.pkl");
    }
  }
  put_file(scratch / "array.pkl", numpy_pickle("I1\n", "a"));
  EXPECT_ERROR(read_numpy_dictionary(scratch / "array.pkl"), "it holds no dictionary");
}

TEST(NumpyPickle, OfPython3InAllProtocols) {
  const Scratch scratch;
  const torch::Tensor a = torch::tensor({{0, 200, 255}, {1, 10, 128}}, torch::kUInt8),
                      f = torch::tensor({{.5F, .25F, 1.F}, {0.F, .75F, .125F}});
  for (const std::string& bytes : kPickled3) {
    put_file(scratch / "splits.pkl", bytes);
    auto found = read_numpy_dictionary(scratch / "splits.pkl");
    EXPECT_TRUE(found.at("train").equal(a)) << found.at("train");
    EXPECT_TRUE(found.at("f").equal(f)) << found.at("f");
    std::string renamed = bytes;  // NumPy 1's name, of the same length less one
    for (size_t at; (at = renamed.find("numpy._core")) != std::string::npos;) {
      const bool sized = at > 0 && static_cast<size_t>(renamed[at - 1]) < 32 &&
                         renamed[at - 1] != '\n' && renamed[at - 1] != 'c';
      if (sized) --renamed[at - 1];
      renamed.replace(at, 11, "numpy.core");
    }
    put_file(scratch / "old.pkl", renamed);
    EXPECT_TRUE(read_numpy_dictionary(scratch / "old.pkl").at("f").equal(f));
    for (size_t end = 0; end < bytes.size(); ++end) {
      put_file(scratch / "cut.pkl", bytes.substr(0, end));
      EXPECT_ERROR(read_numpy_dictionary(scratch / "cut.pkl"), "cut.pkl");
    }
  }
}

TEST(NumpyPickle, PairsOfImagesAndClasses) {
  const Scratch scratch;
  put_gzip(scratch / "mnist.pkl.gz", kPickledPairs);
  const Dataset data = load_dataset(scratch / "mnist.pkl.gz", "unused");
  EXPECT_EQ(data.values, PixelValues::kGrey);
  EXPECT_TRUE(data.train.equal(torch::tensor({{128, 64, 255}, {0, 191, 32}}, torch::kUInt8)));
  EXPECT_TRUE(data.validation.equal(data.train.narrow(0, 0, 1)));
  EXPECT_TRUE(data.test.equal(data.train.narrow(0, 1, 1)));
  EXPECT_TRUE(data.labels.equal(torch::tensor({2, 0})));
  ASSERT_TRUE(describe_data_file(scratch / "mnist.pkl.gz").has_value());
}

TEST(NumpyPickle, RefusesWhatIsNone) {
  const std::string good = numpy_pickle("I2\nI3\n", "abcdef");
  EXPECT_ERROR(read(""), "array.pkl is not a pickle of arrays of NumPy: ");
  EXPECT_ERROR(read("\x80\x06N."), "its pickle protocol is above 5");
  EXPECT_ERROR(read("?"), "its byte 0 is not a known opcode");
  EXPECT_ERROR(read(std::string("\x8a\x02\xff\xff.", 5)), "it holds a value that is not an array");
  EXPECT_ERROR(read("(I1\nd."), "a key without a value");
  EXPECT_ERROR(read("}I1\na."), "it adds items to a value that is not a list");
  for (size_t end = 0; end < good.size(); ++end) EXPECT_ERROR(read(good.substr(0, end)), "array");
  EXPECT_ERROR(read(numpy_pickle("I2\nI3\n", "abcde")), "holds 5 of its 6 bytes");
  EXPECT_ERROR(read(numpy_pickle("I-2\nI3\n", "abcdef")), "has no shape");
  EXPECT_ERROR(read(numpy_pickle("I9999999999\nI9999999999\n", "a")), "holds 1 of its");
  EXPECT_ERROR(read(numpy_pickle("I1\n", "a", "i8")), "type '|i8'");
  EXPECT_ERROR(read(numpy_pickle("I1\n", "abcdefgh", "f8")), "type '|f8'");  // no byte order
  EXPECT_ERROR(read(numpy_pickle("I1\n", "\\x0")), "damaged string");
  EXPECT_ERROR(read("I1\n."), "it holds a value that is not an array");
}

std::string times(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

// Lists that contain themselves or one another many times over take as little memory as in Python.
TEST(NumpyPickle, StaysSmall) {
  for (const std::string& bytes : {"(lp0\n" + times(40, "g0\nap0\n"), times(40, "(lp0\ng0\na"),
                                   "(" + times(500, "I1\n") + "l" + times(100000, "p0\n")}) {
    EXPECT_ERROR(read(bytes + "."), "it holds a value that is not an array");
  }
  EXPECT_ERROR(read(times(1000000, "(l") + times(999999, "a") + "."),
               "it holds a value that is not an array");
  EXPECT_ERROR(read(times(1000001, "(l")), "it holds too many values");
}

// One array, stored in the memo, occurs many times in a list: the file is small, but the list would
// not be.
TEST(NumpyPickle, AnArrayThatIsRepeatedStaysSmall) {
  const Scratch scratch;
  const std::string array = numpy_pickle("I1000\n", std::string(1000, 'a'));
  const std::string kept = array.substr(5, array.size() - 7) + "p99\n0";
  const std::string listed = "(" + times(100000, "g99\n") + "l";
  put_file(scratch / "bomb.pkl", "(dp0\n" + kept + "S'train'\n" + listed + "s.");
  EXPECT_ERROR(read_numpy_dictionary(scratch / "bomb.pkl"), "to an array too many times");
  EXPECT_ERROR(read("(" + kept + times(5000000, "h\x63") + "l."),
               "reads its stored values too many times");
  EXPECT_ERROR(read("N" + times(1000001, "\x94") + "."), "it holds too many values");
}

TEST(NumpyPickle, CallsNothing) {
  EXPECT_ERROR(read("cos\nsystem\n(S'true'\ntR."),
               "a pickle that names os system; only arrays of NumPy are read");
}

TEST(FreyFaces, WrongOrMissingFilesAreNamed) {
  const Scratch scratch;
  EXPECT_ERROR(load_dataset("freyfaces", scratch.folder()),
               "freyfaces/freyfaces.pkl (or the same with .gz) is missing");
  put_file(scratch / "freyfaces/freyfaces.pkl", numpy_pickle("I2\nI3\n", "abcdef"));
  EXPECT_ERROR(load_dataset("freyfaces", scratch.folder()),
               "freyfaces.pkl holds an array of 2x3; expected 1965 images of 28x20");
  const auto described = describe_data_file(scratch / "freyfaces/freyfaces.pkl");
  ASSERT_TRUE(described.has_value());
  EXPECT_EQ(described->format, "NumPy pickle");
  EXPECT_EQ(described->shape, (std::vector<int64_t>{2, 3}));
}

// An array of the given shape, all of one value, as Python 2 pickles it in protocol 2.
std::string pickled_array(const std::vector<uint16_t>& shape, float value) {
  const auto number = [](uint32_t n, int bytes) {
    return std::string(reinterpret_cast<const char*>(&n), static_cast<size_t>(bytes));
  };
  uint32_t elements = 1;
  std::string sizes = "(";
  for (const uint16_t size : shape) {
    elements *= size;
    sizes += "M" + number(size, 2);
  }
  const std::string bit(reinterpret_cast<const char*>(&value), 4);
  std::string bytes;
  for (uint32_t i = 0; i < elements; ++i) bytes += bit;
  const auto text = [&](const std::string& content) {
    return "U" + number(static_cast<uint32_t>(content.size()), 1) + content;
  };
  return "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n" + std::string("K\0\x85", 3) +
         text("b") + "tR(K\x01" + sizes + "tcnumpy\ndtype\n(" + text("f4") +
         std::string("K\0K\x01tR(K\x03", 9) + text("<") + "NNNI-1\nI-1\n" + std::string("K\0", 2) +
         "tb\x89T" + number(4 * elements, 4) + bytes + "tb";
}

std::string entry(const std::string& name, const std::string& value) {
  return "S'" + name + "'\n" + value + "s";
}

// Grey levels v are floor(256 v) with v clipped to [1/512, 1 - 1/512].
TEST(Histopathology, HasTheLevelsOfItsPublishedSplits) {
  const Scratch scratch;
  const auto put = [&](const std::string& content) {
    put_file(scratch / "histopathology/histopathology.pkl", "\x80\x02}" + content + ".");
  };
  const std::string validation = entry("validation", pickled_array({2, 28, 28}, 1)),
                    test = entry("test", pickled_array({1, 784}, 0));
  put(entry("training", "](" + pickled_array({28, 28}, 128.0F / 255) +
                            pickled_array({28, 28}, 0.5) + pickled_array({28, 28}, 127.0F / 255) +
                            "e") +
      validation + test);
  const Dataset data = load_dataset("histopathology", scratch.folder());
  EXPECT_EQ(data.space(), (StateSpace{StateKind::kCategorical, 784, 256}));
  EXPECT_EQ(std::pair(data.height, data.width), std::pair(int64_t{28}, int64_t{28}));
  EXPECT_TRUE(data.train.equal(
      torch::tensor({128, 128, 127}, torch::kUInt8).unsqueeze(1).expand({3, 784})));
  EXPECT_TRUE(data.validation.equal(torch::full({2, 784}, 255, torch::kUInt8)));
  EXPECT_TRUE(data.test.equal(torch::zeros({1, 784}, torch::kUInt8)));

  // The archive is read as it was published.
  const std::filesystem::path folder = scratch / "archived/histopathology";
  std::filesystem::create_directories(folder);
  const std::string pack = "tar -C " + (scratch / "histopathology").string() + " -czf " +
                           (folder / "histopathology.pkl.tar.gz").string() + " histopathology.pkl";
  ASSERT_EQ(std::system(pack.c_str()), 0);
  EXPECT_EQ(data_sha256(load_dataset("histopathology", scratch / "archived")), data_sha256(data));

  put(validation + test);
  EXPECT_ERROR(load_dataset("histopathology", scratch.folder()),
               "histopathology.pkl holds test, validation; expected training, validation, test");
  put(entry("training", pickled_array({2, 28, 28}, 1.5)) + validation + test);
  EXPECT_ERROR(load_dataset("histopathology", scratch.folder()),
               "array training, holds values that are not real numbers from 0 to 1");
  put(entry("training", pickled_array({2, 28, 27}, 1)) + validation + test);
  EXPECT_ERROR(load_dataset("histopathology", scratch.folder()), "expected 2 images of 28x28");
  put(entry("training", "](" + pickled_array({28, 28}, 1) + pickled_array({28, 27}, 1) + "e"));
  EXPECT_ERROR(load_dataset("histopathology", scratch.folder()), "differ in shape or type");
  EXPECT_ERROR(load_dataset("histopathology", scratch / "nowhere"),
               "histopathology/histopathology.pkl.tar (or the same with .gz) is missing");
}

}  // namespace
}  // namespace isinglass::numpy_pickle_test
