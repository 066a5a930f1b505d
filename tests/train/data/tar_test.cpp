// Tar archives with one file, as the system's tar writes them and as tests damage them.
#include "train/data/formats/tar.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "io/files.h"
#include "tests/support/data_files.h"
#include "tests/support/scratch.h"
#include "train/data/formats/numpy_pickle.h"

namespace isinglass::tar_test {
namespace {

class Tar : public testing::Test {
 protected:
  // Returns an archive of the files in `from`.
  std::string archive(const std::string& options) const {
    const std::string line =
        "tar -C " + (scratch_ / "from").string() + " -cf " + file().string() + " " + options + " .";
    EXPECT_EQ(std::system(line.c_str()), 0);
    return read_file(file());
  }
  std::filesystem::path file() const { return scratch_ / "x.tar"; }

  const Scratch scratch_;
};

TEST_F(Tar, ItsOnlyFileIsRead) {
  const std::string text(1500, 'a');
  put_file(scratch_ / "from/folder/x.pkl", text);
  put_file(scratch_ / "from/folder/._x.pkl", "of a Mac");
  for (const std::string format : {"v7", "ustar", "gnu", "pax"}) {
    EXPECT_EQ(content_of_tar(file(), archive("--format=" + format)), text) << format;
  }
  EXPECT_EQ(content_of_tar(file(), text), text);
  EXPECT_EQ(content_of_tar(file(), ""), "");
}

TEST_F(Tar, OthersAreRefused) {
  put_file(scratch_ / "from/a", std::string(700, 'a'));
  const std::string whole = archive("--format=ustar");
  EXPECT_ERROR(content_of_tar(file(), whole.substr(0, 1100)), "is a truncated tar archive");
  put_file(scratch_ / "from/b", "b");
  EXPECT_ERROR(content_of_tar(file(), archive("")), "contains several files");
  std::filesystem::remove(scratch_ / "from/a");
  std::filesystem::remove(scratch_ / "from/b");
  EXPECT_ERROR(content_of_tar(file(), archive("")), "contains no file");
}

TEST_F(Tar, PicklesInCompressedArchivesAreRead) {
  put_file(scratch_ / "from/x.pkl", numpy_pickle("I2\nI3\n", "abcdef"));
  put_gzip(scratch_ / "x.pkl.tar.gz", archive(""));
  EXPECT_EQ(read_numpy_pickle(scratch_ / "x.pkl.tar.gz").sizes(), torch::IntArrayRef({2, 3}));
}

}  // namespace
}  // namespace isinglass::tar_test
