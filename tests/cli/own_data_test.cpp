// A user's own data from the shell: files of splits, rows of pixels, and the output of `inspect`.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/directory_fixture.h"
#include "tests/support/data_files.h"
#include "tests/support/inputs.h"

namespace isinglass::own_data_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class OwnData : public DirectoryFixture {
 protected:
  // Rows of 4x3 binary pixels, as .npy files of three splits and one .pt file of them all.
  void SetUp() override {
    torch::manual_seed(4);
    images_ = torch::rand({60, 12}).lt(0.3).to(torch::kUInt8);
    for (const auto& [name, first, count] :
         {std::tuple("train", 0, 40), std::tuple("valid", 40, 10), std::tuple("test", 50, 10)}) {
      const torch::Tensor split = images_.narrow(0, first, count).contiguous();
      put_file(dir_ / (std::string(name) + ".npy"),
               npy_file(1, "|u1", "(" + std::to_string(count) + ", 12)",
                        {static_cast<const char*>(split.data_ptr()), split.nbytes()}));
    }
    write_pt(dir_ / "all.pt", PtValue{PtDict{{"train", {images_.narrow(0, 0, 40)}},
                                             {"valid", {images_.narrow(0, 40, 10)}},
                                             {"test", {images_.narrow(0, 50, 10)}}}});
    write_pt(dir_ / "rows.pt", PtValue{images_});
  }

  static std::string training(const std::string& more) {
    return "train --model rbm --hidden 3 --objective cd --batch 10 --warmup 0 "
           "--checkpoint-every 3 --seed 5 --quiet " +
           more;
  }

  torch::Tensor images_;
};

TEST_F(OwnData, FilesOfSplitsTrainResumeAndAreEvaluated) {
  const std::string files = "--dataset train.npy --validation valid.npy --test test.npy ";
  succeeds(training("--dataset all.pt --iters 8 --out whole"));
  succeeds(training(files + "--iters 4 --out part"));
  const std::string config = file_bytes(dir_ / "part/config.toml");
  EXPECT_NE(config.find("validation = '/"), std::string::npos) << config;  // a full path
  EXPECT_NE(config.find("/test.npy'"), std::string::npos) << config;
  succeeds("train --quiet --resume part --iters 8");
  EXPECT_EQ(file_bytes(dir_ / "whole/ema.pt"), file_bytes(dir_ / "part/ema.pt"));
  for (const std::string& data : {files, std::string("--dataset all.pt ")}) {
    const std::string out = data == files ? "a" : "b";
    succeeds("evaluate --weights whole/ema.pt " + data + "--chains 5 --steps 10 --out " + out);
  }
  const Json a = Json::parse(file_bytes(dir_ / "a/ais.json")),
             b = Json::parse(file_bytes(dir_ / "b/ais.json"));
  EXPECT_EQ(a["log_likelihood"], b["log_likelihood"]);
  EXPECT_EQ(a["log_likelihood"].size(), 3u);
  refused(
      training("--dataset strokes --test test.npy --iters 2 --out x"),
      "--test requires --dataset to be a file of training images, but strokes has its own splits");
  refused(training("--dataset all.pt --test test.npy --iters 2 --out x"),
          "all.pt already holds images of that split");
  refused(training("--dataset train.npy --test none.npy --iters 2 --out x"),
          "none.npy does not exist");
}

TEST_F(OwnData, ImageSaysWhatRowsAre) {
  const std::string resnet =
      "train --dataset rows.pt --model resnet --channels 2 --buffer 10 --batch 5 --iters 1 "
      "--steps-per-iter 1 --radius 2 --quiet ";
  succeeds(resnet + "--image 4x3 --out run");
  EXPECT_NE(file_bytes(dir_ / "run/config.toml").find("image = '4x3'"), std::string::npos);
  succeeds(
      "evaluate --weights run/ema.pt --dataset rows.pt --radius 2 --chains 3 --steps 3 --out y");
  succeeds("train --quiet --resume run --iters 2");
  refused(resnet + "--image 4x4 --out x", "rows.pt have 12 pixels");
  EXPECT_EQ(file_bytes(dir_ / "run/log.txt").find("are rows of 12 values"), std::string::npos);
  succeeds(resnet + "--out wide");
  EXPECT_NE(file_bytes(dir_ / "wide/log.txt")
                .find("are rows of 12 values, which the convolutions take for images of 1x12"),
            std::string::npos);
}

TEST_F(OwnData, InspectSaysWhatItReads) {
  const Outcome array = run("inspect train.npy");
  EXPECT_EQ(array.exit_code, 0) << array.err;
  EXPECT_NE(array.out.find("NumPy .npy"), std::string::npos) << array.out;
  put_file(dir_ / "x.h5", "\x89HDF\r\n");
  put_file(dir_ / "x.md", "A text.\n");
  put_file(dir_ / "x.txt", "A text.\n");
  refused("inspect x.txt", "x.txt holds no numbers; expected one row of numbers a line");
  for (const std::string file : {"x.h5", "x.md"}) {
    refused("inspect " + file, file + " is not a file that inspect can read; it reads .pt, ");
  }
  fs::create_directory(dir_ / "classes");
  refused("inspect classes", "classes is neither a run directory (it has no config.toml) nor a");
  // A run that has lost its configuration still contains a picture, which must not be taken for
  // data.
  succeeds(training("--dataset rows.pt --iters 2 --out run"));
  fs::remove(dir_ / "run/config.toml");
  refused("inspect run", "run is neither a run directory (it has no config.toml) nor a folder");
  refused(training("--dataset run --iters 2 --out x"), "run is not a file of images");
}

}  // namespace
}  // namespace isinglass::own_data_test
