// Categorical images from the shell: train, resume, evaluate and inspect, and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/cli/directory_fixture.h"
#include "tests/support/inputs.h"

namespace isinglass::categorical_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class Categorical : public DirectoryFixture {
 protected:
  // Images 4x3 of 3 values.
  void SetUp() override {
    torch::manual_seed(4);
    images_ = (3 * torch::rand({100, 4, 3}).square()).to(torch::kUInt8);
    write_pt(dir_ / "images.pt", PtValue{images_});
    write_pt(dir_ / "bars.pt", PtValue{bars()});
  }

  static std::string training(const std::string& more) {
    return "train --dataset images.pt --levels 3 --batch 10 --buffer 20 --steps-per-iter 2 "
           "--radius 2 --warmup 0 --checkpoint-every 3 --evaluate-every 0 --seed 5 --quiet " +
           more;
  }

  torch::Tensor images_;
};

TEST_F(Categorical, AResNetTrainsResumesAndIsEvaluated) {
  const std::string resnet = "--model resnet --channels 4 --proj 2 ";
  succeeds(training(resnet + "--iters 10 --out whole"));
  succeeds(training(resnet + "--iters 4 --out part"));
  succeeds("train --quiet --resume part --iters 10");
  EXPECT_EQ(file_bytes(dir_ / "whole/ema.pt"), file_bytes(dir_ / "part/ema.pt"));
  EXPECT_EQ(file_bytes(dir_ / "whole/checkpoints/00000010.pt"),
            file_bytes(dir_ / "part/checkpoints/00000010.pt"));
  const NamedTensors weights = read_named_tensors(dir_ / "whole/ema.pt");
  const auto size = [&](const std::string& key) {
    for (const auto& [name, tensor] : weights) {
      if (name == key) return tensor.sizes().vec();
    }
    return std::vector<int64_t>();
  };
  EXPECT_EQ(size("proj.weight"), (std::vector<int64_t>{2, 3, 1, 1}));
  EXPECT_EQ(size("proj2.weight"), (std::vector<int64_t>{4, 2, 3, 3}));
  EXPECT_EQ(size("mean"), (std::vector<int64_t>{12, 3}));
  EXPECT_TRUE(fs::exists(dir_ / "whole/samples/00000009.png"));

  for (const std::string method : {"", "--method tempering --rungs 6 "}) {
    const std::string out = method.empty() ? "ais" : "tempering";
    succeeds(
        "evaluate --weights whole/ema.pt --dataset images.pt --levels 3 --chains 30 --steps 300 "
        "--radius 2 " +
        method + "--out " + out);
    const Json found = Json::parse(file_bytes(dir_ / out / "ais.json"));
    for (const char* split : {"train", "validation", "test"}) {
      const Json nats = found["log_likelihood"][split];
      const double quoted = found["verdict"] == "closed" ? nats["bidirectional"] : nats["forward"];
      EXPECT_NEAR(found["bits_per_dim"][split].get<double>(), -quoted / 12 / std::log(2.0), 1e-9);
      const double independent = found["baseline"][split];
      EXPECT_NEAR(found["baseline_bits_per_dim"][split].get<double>(),
                  -independent / 12 / std::log(2.0), 1e-9);
      // Ten small steps from a network that is near constant.
      EXPECT_NEAR(quoted, independent, 0.5) << split;
    }
  }
  const Outcome shown =
      run("evaluate --weights whole/ema.pt --dataset images.pt --levels 3 "
          "--chains 20 --steps 100 --radius 2 --no-reverse --out again");
  EXPECT_NE(shown.out.find("nats (open: "), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find(" bits per pixel; independent pixels "), std::string::npos) << shown.out;
  succeeds("inspect whole --image 4x3 --out buffer.png");
  EXPECT_TRUE(fs::exists(dir_ / "buffer.png"));
  succeeds("report ais");
  succeeds("report whole");
}

TEST_F(Categorical, AnRbmTrainsByChainsAndByContrast) {
  for (const std::string objective : {"pcd", "cd"}) {
    const bool persistent = objective == "pcd";
    succeeds(
        "train --dataset images.pt --levels 3 --model rbm --hidden 4 --batch 10 --iters 5 "
        "--warmup 0 --quiet --steps-per-iter 2 --objective " +
        objective + (persistent ? " --buffer 20 --radius 2" : "") + " --out " + objective);
    succeeds("evaluate --weights " + objective +
             "/ema.pt --dataset images.pt --levels 3 --chains 20 "
             "--steps 200 --out ais-" +
             objective);
    const Json found = Json::parse(file_bytes(dir_ / ("ais-" + objective) / "ais.json"));
    EXPECT_NEAR(found["log_likelihood"]["test"]["forward"].get<double>(),
                found["baseline"]["test"].get<double>(), 0.5);
  }
}

TEST_F(Categorical, WhatDoesNotFitIsRefusedInASentence) {
  refused(training("--model ising --iters 2 --out x"), "--model ising has no categorical sites");
  refused(training("--model mlp --iters 2 --out x"), "--model mlp has no categorical sites");
  refused("train --dataset bars.pt --proj 2 --iters 2 --out x",
          "--proj applies to a resnet of categorical");
  refused("train --dataset bars.pt --base-smooth 2 --iters 2 --out x",
          "--base-smooth applies to a new model of categorical images");
  refused(training("--model resnet --no-base --base-smooth 2 --iters 2 --out x"),
          "--base-smooth applies to a new model of categorical images");
  refused(
      "train --dataset images.pt --levels 3 --channels 4 --sampler nb --radius 100 --iters 2 --out "
      "x",
      "nb moves up to 2R - 1 distinct sites, but the model has 12");
  refused("train --dataset freyfaces --data-dir nowhere --iters 2 --out x",
          "nowhere/freyfaces/freyfaces.pkl (or the same with .gz) is missing");
  refused("train --dataset images.pt --levels 2 --iters 2 --out x",
          "holds whole numbers from 0 to 2");
  succeeds(training("--model resnet --channels 4 --iters 1 --out categorical"));
  // The run directory says which model the parameters are of.
  succeeds("sample --weights categorical/ema.pt --steps 3 --chains 2 --quiet --out draws");
  std::filesystem::copy_file(dir_ / "categorical/ema.pt", dir_ / "lone.pt");
  refused("sample --weights lone.pt --steps 3 --out x",
          "--model is needed, because --weights lone.pt is not in a run directory");
  refused("evaluate --weights categorical/ema.pt --dataset bars.pt --steps 10 --out y",
          "bars.pt has 9 binary sites per image, but model resnet has 12 categorical sites of 3 "
          "values");
  succeeds(
      "train --dataset images.pt --levels 3 --model rbm --hidden 2 --batch 4 --buffer 8 --iters 1 "
      "--radius 2 --quiet --out rbm");
  succeeds(
      "train --dataset bars.pt --model rbm --hidden 2 --batch 4 --buffer 8 --iters 1 --radius 2 "
      "--quiet --out binary");
  refused(
      "evaluate --weights binary/ema.pt --dataset images.pt --levels 3 --steps 10 --out y",
      "images.pt has 12 categorical sites of 3 values per image, but model rbm has 9 binary sites");
  refused(
      "evaluate --weights rbm/ema.pt --dataset bars.pt --steps 10 --out y",
      "bars.pt has 9 binary sites per image, but model rbm has 12 categorical sites of 3 values");
}

}  // namespace
}  // namespace isinglass::categorical_test
