// isinglass evaluate, energy and inspect.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/cli/inputs.h"
#include "tests/cli/program.h"

namespace isinglass {
namespace {

using Json = nlohmann::json;

class Evaluate : public ::testing::Test {
 protected:
  void SetUp() override {
    write_ising(dir_ / "ising.pt");
    write_rbm(dir_ / "rbm.pt");
    write_pt(dir_ / "states.pt", PtValue{all_states()});
    write_pt(dir_ / "bars.pt", PtValue{bars()});
  }

  Outcome run(const std::string& arguments) {
    const Outcome outcome = run_program(arguments, {.directory = dir_.path()});
    EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << outcome.err;
    return outcome;
  }

  // −log Σ exp(−U) and U over all 512 states, by `energy`.
  torch::Tensor energies(const std::string& model) {
    run("energy --model " + model + " --weights " + model + ".pt --states states.pt --out e.pt");
    return read_named_tensors(dir_ / "e.pt").at(0).second.to(torch::kFloat64);
  }

  TemporaryDirectory dir_;
};

TEST_F(Evaluate, LogZIsThatOfEnumeration) {
  const double exact = torch::logsumexp(-energies("ising"), 0).item<double>();
  for (const std::string schedule : {"linear", "sigmoid", "adaptive"}) {
    const Json ais =
        Json::parse(run("evaluate --model ising --weights ising.pt --chains 200 --steps 200 "
                        "--sampler gwg --json --schedule " +
                        schedule + " --out " + schedule)
                        .out);
    const double error = ais["log_z"].get<double>() - exact, se = ais["log_z_se"].get<double>();
    EXPECT_LT(se, 0.1) << schedule;
    EXPECT_LT(std::abs(error), 4 * se) << schedule;
    EXPECT_EQ(ais["log_likelihood"], Json::object());
    EXPECT_EQ(ais["curve"].back(), Json({200, ais["log_z"]}));
    EXPECT_EQ(ais, Json::parse(file_bytes(dir_ / schedule / "ais.json")));
    EXPECT_TRUE(std::filesystem::exists(dir_ / schedule / "chains.pt"));
    EXPECT_FALSE(std::filesystem::exists(dir_ / schedule / "ais-checkpoint.pt"));
  }
}

TEST_F(Evaluate, LikelihoodsFollowFromLogZ) {
  const torch::Tensor energy = energies("rbm");
  const Json ais =
      Json::parse(run("evaluate --model rbm --weights rbm.pt --dataset bars.pt --chains 100 "
                      "--steps 100 --radius 2 --json --out out")
                      .out);
  ASSERT_EQ(ais["log_likelihood"].size(), 3u);
  // Six distinct images in equal numbers over all splits together: 48 + 6 + 6 images.
  const torch::Tensor images = bars().view({60, 9}).to(torch::kInt64);
  const torch::Tensor index =
      images.mul(torch::ones({9}, torch::kInt64) * torch::pow(2, torch::arange(9))).sum(1);
  const double mean_energy = energy.index_select(0, index).mean().item<double>();
  const auto& ll = ais["log_likelihood"];
  const double mean = (48 * ll["train"].get<double>() + 6 * ll["validation"].get<double>() +
                       6 * ll["test"].get<double>()) /
                      60;
  EXPECT_NEAR(mean, -mean_energy - ais["log_z"].get<double>(), 1e-4);  // float32 free energies
  EXPECT_NEAR(ais["bits_per_dim"]["test"].get<double>(),
              -ll["test"].get<double>() / (9 * std::log(2.0)), 1e-12);
}

TEST_F(Evaluate, InterruptedEvaluationGoesOnToTheSameResult) {
  const std::string command =
      "evaluate --model ising --weights " + (dir_ / "ising.pt").string() +
      " --chains 50 --steps 20000 --sampler gwg --threads 1 --quiet --json --out ";
  const Outcome unbroken = run_program(command + (dir_ / "unbroken").string());
  ASSERT_EQ(unbroken.exit_code, 0) << unbroken.err;
  Program program(words(command + (dir_ / "stopped").string()));
  ASSERT_TRUE(
      program.reaches([&] { return std::filesystem::exists(dir_ / "stopped" / "config.toml"); }));
  usleep(100000);
  program.signal(SIGINT);
  const Outcome stopped = program.wait();
  ASSERT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_EQ(stopped.out, "");
  const Outcome resumed = run_program("evaluate --json --resume " + (dir_ / "stopped").string());
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  Json first = Json::parse(unbroken.out), second = Json::parse(resumed.out);
  first.erase("seconds");
  second.erase("seconds");
  EXPECT_EQ(first, second);
  EXPECT_EQ(file_bytes(dir_ / "unbroken" / "chains.pt"),
            file_bytes(dir_ / "stopped" / "chains.pt"));
}

TEST_F(Evaluate, RunDirectorySaysWhatItsWeightsAre) {
  run("train --model rbm --hidden 3 --dataset bars.pt --iters 5 --batch 5 --buffer 10 "
      "--steps-per-iter 2 --quiet --out run");
  const Json ais = Json::parse(
      run("evaluate --weights run/ema.pt --chains 20 --steps 20 --quiet --json --out out").out);
  EXPECT_EQ(ais["model"], "rbm");
}

TEST_F(Evaluate, EnergyFileHoldsTheGradientOfU) {
  run("energy --model rbm --weights rbm.pt --states states.pt --out e.pt");
  const NamedTensors result = read_named_tensors(dir_ / "e.pt");
  ASSERT_EQ(result.size(), 2u);
  EXPECT_EQ(result[0].first, "energy");
  EXPECT_EQ(result[0].second.sizes(), (std::vector<int64_t>{512}));
  EXPECT_EQ(result[0].second.scalar_type(), torch::kFloat32);
  EXPECT_EQ(result[1].first, "gradient");
  EXPECT_EQ(result[1].second.sizes(), (std::vector<int64_t>{512, 9}));
  // U(0) = −Σ softplus(b_h), ∇U(0) = −b_v − Wᵀσ(b_h).
  const torch::Tensor b_h = torch::linspace(-0.1, 0.3, 4), b_v = torch::linspace(-0.3, 0.2, 9);
  const torch::Tensor w = torch::linspace(-0.5, 0.6, 36).view({4, 9});
  EXPECT_NEAR(result[0].second[0].item<float>(), -torch::softplus(b_h).sum().item<float>(), 1e-5);
  EXPECT_TRUE(
      torch::allclose(result[1].second[0], -b_v - w.t().mv(torch::sigmoid(b_h)), 1e-5, 1e-6));
}

TEST_F(Evaluate, InspectDescribesParametersAndPictures) {
  const Json rbm = Json::parse(run("inspect rbm.pt --json").out);
  EXPECT_EQ(rbm["kind"], "parameters");
  EXPECT_EQ(rbm["content"]["W"]["shape"], Json({4, 9}));
  EXPECT_NEAR(rbm["content"]["W"]["max"].get<double>(), 0.6, 1e-6);
  EXPECT_EQ(rbm["content"]["b_h"]["dtype"], "float32");
  const std::string text = run("inspect states.pt --image 3x3 --out picture.png").out;
  EXPECT_NE(text.find("uint8"), std::string::npos);
  EXPECT_EQ(file_bytes(dir_ / "picture.png").substr(1, 3), "PNG");
}

}  // namespace
}  // namespace isinglass
