// Fixed sites and missing pixels by the program: killed runs resume to the same files, and what
// does not fit is refused in a sentence.
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "io/pt/pt_file.h"
#include "tests/support/inputs.h"
#include "tests/support/program.h"

namespace isinglass::conditional_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class ConditionalRuns : public ::testing::Test {
 protected:
  static constexpr int64_t kSites = 12;

  // An RBM of 3 × 4 pixels, 6 images of them, and values that fix other sites in each of two rows.
  void SetUp() override {
    torch::manual_seed(4);
    write_named_tensors(dir_ / "rbm.pt", {{"W", torch::randn({5, kSites})},
                                          {"b_v", torch::randn({kSites})},
                                          {"b_h", torch::randn({5})}});
    images_ = torch::randint(0, 2, {6, 3, 4}, torch::kUInt8);
    write_pt(dir_ / "images.pt", PtValue{images_});
    torch::Tensor fixed = torch::full({2, kSites}, -1, torch::kInt64);
    fixed[0].slice(0, 0, 5).fill_(1);
    fixed[1].slice(0, 4, 8).fill_(0);
    write_pt(dir_ / "fixed.pt", PtValue{fixed});
  }

  Outcome run(const std::string& arguments) const {
    return run_program(arguments, {.directory = dir_.path()});
  }
  void expect_error(const std::string& arguments, const std::string& words) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
    EXPECT_EQ(line_count(outcome.err), 1) << outcome.err;
  }

  const std::string kSample = "sample --quiet --model rbm --weights rbm.pt --threads 1 ";
  const std::string kEvaluate =
      "evaluate --quiet --model rbm --weights rbm.pt --dataset images.pt --image 3x4 --threads 1 ";
  torch::Tensor images_;
  TemporaryDirectory dir_;
};

TEST_F(ConditionalRuns, KilledTheyEndInTheSameFiles) {
  const std::string options =
      "--fixed fixed.pt --sampler pafs --adapt --chains 20 --burn-in 500 --steps 4000 --thin 10 ";
  ASSERT_EQ(run(kSample + options + "--out whole").exit_code, 0);
  Program program(words(kSample + options + "--checkpoint-every 0.01 --out out"),
                  {.directory = dir_.path()});
  ASSERT_TRUE(program.reaches([&] { return fs::exists(dir_ / "out/draws"); }));
  program.signal(SIGKILL);
  program.wait();
  // Other values are another run.
  torch::Tensor other = torch::full({kSites}, -1, torch::kInt64);
  other[3] = 1;
  const std::string values = file_bytes(dir_ / "fixed.pt");
  write_pt(dir_ / "fixed.pt", PtValue{other});
  EXPECT_NE(run("sample --quiet --resume out").exit_code, 0);
  torch::Tensor fixed = torch::full({2, kSites}, -1, torch::kInt64);
  fixed[0].slice(0, 0, 5).fill_(1);
  fixed[1].slice(0, 4, 8).fill_(0);
  write_pt(dir_ / "fixed.pt", PtValue{fixed});
  const Outcome resumed = run("sample --quiet --resume out");
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(file_bytes(dir_ / "out/samples.pt"), file_bytes(dir_ / "whole/samples.pt"));
  const torch::Tensor x = read_named_tensors(dir_ / "out/samples.pt").front().second;
  EXPECT_TRUE((x.slice(1, 0, 10).slice(2, 0, 5) == 1).all().item<bool>());
  EXPECT_TRUE((x.slice(1, 10, 20).slice(2, 4, 8) == 0).all().item<bool>());
}

TEST_F(ConditionalRuns, MissingPixelsAreFilledInAndPictured) {
  const Outcome outcome = run(kSample +
                              "--dataset images.pt --inpaint left --inpaint-images 3 --chains 6 "
                              "--steps 40 --image 3x4 --out out");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(fs::exists(dir_ / "out/inpainted.png"));
  const Json summary = Json::parse(file_bytes(dir_ / "out/summary.json"));
  EXPECT_EQ(summary["sites"], kSites);
  EXPECT_EQ(summary["free_sites"], kSites / 2);
}

// An evaluation that is killed after some images continues with the others.
TEST_F(ConditionalRuns, EvaluationsContinueWithTheNextImage) {
  const std::string options = kEvaluate +
                              "--inpaint lower --inpaint-images 4 --chains 100 --steps 400 "
                              "--sampler pafs ";
  ASSERT_EQ(run(options + "--out whole").exit_code, 0);
  Program program(words(options + "--out out"), {.directory = dir_.path()});
  ASSERT_TRUE(program.reaches([&] { return fs::exists(dir_ / "out/conditional.json"); }));
  program.signal(SIGINT);
  const Outcome outcome = program.wait();
  if (outcome.exit_code != 0) {
    EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
    EXPECT_NE(outcome.err.find("continues the evaluation"), std::string::npos) << outcome.err;
    ASSERT_EQ(run("evaluate --quiet --resume out").exit_code, 0);
  }
  const Json whole = Json::parse(file_bytes(dir_ / "whole/conditional.json"));
  EXPECT_EQ(Json::parse(file_bytes(dir_ / "out/conditional.json")), whole);
  EXPECT_EQ(whole["images"].size(), 4);
  EXPECT_EQ(whole["missing"], 8);
}

// log Z of restricted states, whose chains are whole states.
TEST_F(ConditionalRuns, LogZOfRestrictedStates) {
  torch::Tensor one = torch::full({kSites}, -1, torch::kInt64);
  one.slice(0, 0, 8).fill_(1);
  write_pt(dir_ / "one.pt", PtValue{one});
  const Outcome outcome =
      run("evaluate --quiet --model rbm --weights rbm.pt --threads 1 --fixed one.pt --chains 200 "
          "--steps 400 --sampler pafs --out out");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json found = Json::parse(file_bytes(dir_ / "out/ais.json"));
  EXPECT_EQ(found["verdict"], "closed") << found["reason"];
  const torch::Tensor x = read_named_tensors(dir_ / "out/chains.pt").front().second;
  EXPECT_EQ(x.size(1), kSites);
  EXPECT_TRUE((x.slice(1, 0, 8) == 1).all().item<bool>());
}

TEST_F(ConditionalRuns, WhatDoesNotFitIsRefused) {
  expect_error(kSample + "--fixed missing.pt --out out", "missing.pt");
  expect_error(kSample + "--fixed images.pt --out out", "[N, 12] is needed");
  expect_error(kSample + "--fixed fixed.pt --chains 3 --out out",
               "a multiple of that number is needed");
  expect_error(kSample + "--inpaint left --out out", "--inpaint needs --dataset");
  expect_error(kSample + "--inpaint-images 3 --out out", "counts the images of --inpaint");
  expect_error(kSample + "--inpaint left --fixed fixed.pt --dataset images.pt --out out",
               "exclude each other");
  expect_error(kSample + "--inpaint nowhere.png --dataset images.pt --out out", "nowhere.png");
  expect_error(kSample + "--inpaint left --inpaint-images 99 --dataset images.pt --out out",
               "--inpaint-images is 99");
  expect_error(kEvaluate + "--fixed fixed.pt --out out", "go with log Z alone");
  expect_error("evaluate --quiet --model rbm --weights rbm.pt --fixed fixed.pt --out out",
               "there are 2 rows of");
  expect_error("evaluate --quiet --model rbm --weights rbm.pt --inpaint left --out out",
               "--inpaint needs --dataset");
}

}  // namespace
}  // namespace isinglass::conditional_test
