// Data files damaged at random: every reader gives its images or one Error, and `inspect` the same.
#include <gtest/gtest.h>

#include <functional>

#include "io/files.h"
#include "io/picture.h"
#include "io/pt/pt_file.h"
#include "tests/support/data_files.h"
#include "tests/support/fuzzing.h"
#include "tests/support/png_bytes.h"
#include "tests/support/scratch.h"
#include "tests/train/data/numpy_files.h"
#include "tests/train/data/python2_pickles.h"
#include "train/data/dataset.h"
#include "train/data/describe.h"
#include "train/data/formats/amat.h"
#include "train/data/formats/csv.h"
#include "train/data/formats/idx.h"
#include "train/data/formats/npy.h"
#include "train/data/formats/numpy_pickle.h"

namespace isinglass::data_fuzz_test {
namespace {

namespace fs = std::filesystem;

std::string zipped(const std::string& bytes) {
  const Scratch scratch;
  put_gzip(scratch / "file.gz", bytes);
  return read_file(scratch / "file.gz");
}

// Reads damaged files, each as FOLDER/name, and counts the outcomes.
void fuzz(const std::string& name, const std::vector<std::string>& files, std::string_view alphabet,
          const std::function<void(const fs::path&)>& read, int rounds = 1500) {
  const Scratch scratch;
  int accepted = 0, refused = 0;
  size_t round = 0;
  for (Fuzzing fuzzing(rounds); fuzzing.next(); ++round) {
    for (const std::string& file : files) {
      const std::string& other = files[round % files.size()];
      put_file(scratch / name, mutated(fuzzing.random, file, other, alphabet));
      try {
        read(scratch / name);
        ++accepted;
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
        ++refused;
      }
      try {
        describe_data_file(scratch / name);
      } catch (const Error&) {
      }
    }
  }
  EXPECT_GT(accepted, 20);  // otherwise the damage would not reach the reader's depths
  EXPECT_GT(refused, 20);
}

TEST(DataFuzz, NumpyPickle) {
  fuzz("array.pkl", {numpy_pickle("I2\nI3\n", "abcdef"), numpy_pickle("I4\n", "\\x00\\n\\'a")},
       "()lpISNRbat.g\\x'\n0123", [](const fs::path& file) { read_numpy_pickle(file); });
  fuzz("splits.pkl", {kPickledSplits0, kPickledSplits1, kPickledSplits2},
       std::string_view("()lp]}dsuaeqh0KJMUTt\x85\x86\x87\x89\x8aRb.", 26),
       [](const fs::path& file) { read_numpy_dictionary(file); });
}

TEST(DataFuzz, PicklesOfPython3) {
  fuzz(
      "splits.pkl", kPickled3, std::string_view("()}ubRh\x94\x8c\x93\x95\x96\x81VXCKMc|<>", 21),
      [](const fs::path& file) { read_numpy_dictionary(file); }, 300);
  fuzz("pairs.pkl", {kPickledPairs}, "()}ubRhqKXc|<>",
       [](const fs::path& file) { load_dataset(file, {}); });
}

TEST(DataFuzz, Npy) {
  const std::vector<std::string> files = {kNpy,
                                          npy_file(1, "|u1", "(20, 9)", std::string(180, '\1')),
                                          npy_file(2, "<i8", "(2, 1)", std::string(16, '\0'))};
  fuzz("array.npy", files, "{}(),: '<>|ufib1248FT", [](const fs::path& file) { read_npy(file); });
}

TEST(DataFuzz, Npz) {
  fuzz("arrays.npz", {kNpz, kNpzDeflated}, std::string_view("PK\1\2\3\4\5\6\0\x08", 10),
       [](const fs::path& file) { load_dataset(file, {}); });
}

// Headers and rows are damaged before their checksums are made; otherwise every file would be
// refused.
TEST(DataFuzz, Png) {
  constexpr size_t kHeader = 13;
  const std::vector<std::string> files = {
      png_header(8, 0, 2, 3) + std::string("\0\1\2\3\0\x7f\x80\xff", 8),
      png_header(8, 2, 1, 2) + std::string("\0\1\2\3\4\5\6", 7),
      png_header(2, 3, 2, 4) + std::string("\0\x1b\1\x1b", 4),
      png_header(16, 4, 1, 1) + std::string("\0\1\2\xff\xff", 5)};
  const std::string palette = png_chunk("PLTE", "ABCDEFGHIJKL");
  fuzz(
      "image.png", files, std::string_view("\0\1\2\3\4\6\x08\x10", 8),
      [&](const fs::path& file) {
        const std::string bytes = read_file(file);
        put_file(file, png_of(bytes.substr(0, kHeader),
                              bytes.substr(std::min(kHeader, bytes.size())), palette));
        read_png(file);
      },
      400);
}

TEST(DataFuzz, Idx) {
  const std::vector<std::string> files = {idx_bytes({2, 2, 3}, "abcdefghijkl"),
                                          idx_bytes({5}, "01234"), idx_bytes({1, 1, 1, 1}, "x")};
  fuzz("images", files, std::string_view("\0\1\2\3\4\x08\x0d", 7),
       [](const fs::path& file) { read_idx(file); });
}

TEST(DataFuzz, Gzip) {
  const std::string idx = idx_bytes({2, 2, 3}, "abcdefghijkl");
  fuzz("images", {zipped(idx), zipped(idx.substr(0, 9)) + zipped(idx.substr(9))},
       std::string_view("\x1f\x8b\x08\0", 4), [](const fs::path& file) { read_idx(file); });
}

TEST(DataFuzz, Amat) {
  fuzz("images.amat", {"0 1 1\n1 0 0\n", "0 1\r\n1 1\r\n0 0", "1\n"}, "01 \n\r",
       [](const fs::path& file) { read_amat(file); });
}

TEST(DataFuzz, Csv) {
  fuzz("numbers.csv",
       {"a,b\n0,1\n1,0\n", "0.5;\r\n;1e3",
        "\xef\xbb\xbf"
        "1 2\n3 4\n"},
       "01,; .e-\n\r", [](const fs::path& file) { read_csv(file); });
}

TEST(DataFuzz, OwnImages) {
  const Scratch scratch;
  const auto file_of = [&](const torch::Tensor& images) {
    write_pt(scratch / "images.pt", {images});
    return read_file(scratch / "images.pt");
  };
  torch::manual_seed(1);
  const std::vector<std::string> files = {file_of(torch::randint(2, {20, 3, 3}, torch::kByte)),
                                          file_of(torch::rand({20, 9})),
                                          idx_bytes({20, 3, 3}, std::string(180, '\1'))};
  fuzz("images.pt", files, "KMJ)tR", [](const fs::path& file) { load_dataset(file, {}); });
}

}  // namespace
}  // namespace isinglass::data_fuzz_test
