// isinglass sample and energy on continuous states: files, products, other gradients, scripts, and
// mistakes.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "io/files.h"
#include "tests/models/script_files.h"
#include "tests/support/inputs.h"
#include "tests/support/program.h"

namespace isinglass::continuous_test {
namespace {

using Json = nlohmann::json;

class Continuous : public ::testing::Test {
 protected:
  void SetUp() override {
    write_named_tensors(dir_ / "gaussian.pt",
                        {{"mean", torch::tensor({1.0f, -0.5f})},
                         {"precision", torch::tensor({2.0f, -0.8f, -0.8f, 1.5f}).view({2, 2})}});
    write_named_tensors(dir_ / "three.pt",
                        {{"mean", torch::zeros({3})}, {"precision", torch::ones({3})}});
    write_named_tensors(dir_ / "mixture.pt",
                        {{"weights", torch::tensor({0.7f, 0.3f})},
                         {"means", torch::tensor({-1.0f, 0.0f, 1.0f, 0.5f}).view({2, 2})},
                         {"precision", torch::full({2, 2}, 2.0f)}});
    write_script(dir_ / "script.pt",
                 "def forward(self, x):\n    return (x**4).flatten(1).sum(1) / 4\n");
    write_rbm(dir_ / "rbm.pt");
  }

  Outcome run(const std::string& arguments) {
    const Outcome outcome = run_program(arguments, {.directory = dir_.path()});
    EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << outcome.err;
    return outcome;
  }

  NamedTensors draws(const std::string& out) {
    return read_named_tensors(dir_ / out / "samples.pt");
  }

  void expect_refused(const std::string& arguments, const std::string& words) {
    const Outcome outcome = run_program(arguments + " --out refused", {.directory = dir_.path()});
    EXPECT_EQ(outcome.exit_code, 2) << arguments << "\n" << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(line_count(outcome.err), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(dir_ / "refused")) << arguments;
  }

  TemporaryDirectory dir_;
};

const std::string kGaussian = "sample --model gaussian --weights gaussian.pt ";

TEST_F(Continuous, DrawsAreFloat32AndTheirEnergiesTheirOwn) {
  for (const std::string sampler : {"ula", "mala", "uhmc", "hmc", "fhl"}) {
    run(kGaussian + "--chains 8 --steps 6 --thin 2 --sampler " + sampler + " --out " + sampler);
    const NamedTensors file = draws(sampler);
    EXPECT_EQ(file[0].second.scalar_type(), torch::kFloat32);
    EXPECT_EQ(file[0].second.sizes(), (std::vector<int64_t>{3, 8, 2}));
    write_pt(dir_ / "states.pt", PtValue{file[0].second.reshape({24, 2})});
    run("energy --model gaussian --weights gaussian.pt --states states.pt --out e.pt");
    const NamedTensors energy = read_named_tensors(dir_ / "e.pt");
    EXPECT_TRUE(torch::allclose(energy[0].second, file[1].second.reshape({24}), 1e-6, 1e-6));
    EXPECT_EQ(energy[1].second.sizes(), (std::vector<int64_t>{24, 2}));
    const Json summary = Json::parse(file_bytes(dir_ / sampler / "summary.json"));
    EXPECT_EQ(summary["exact"], sampler[0] != 'u');
    EXPECT_EQ(summary["energy_evaluations"], sampler == "ula" || sampler == "mala" ? 6 : 48);
    EXPECT_EQ(summary.contains("acceptance_worst_group"), sampler == "fhl");
  }
  run(kGaussian + "--init states.pt --steps 2 --sampler fhl --out again");
  EXPECT_EQ(draws("again")[0].second.size(1), 24);
}

TEST_F(Continuous, StartsAreStandardNormal) {
  run(kGaussian + "--sampler mala --step-size 1e-9 --chains 4000 --steps 1 --out out");
  const torch::Tensor x = draws("out")[0].second.flatten().to(torch::kFloat64);
  const double n = static_cast<double>(x.numel());
  EXPECT_NEAR(x.mean().item<double>(), 0, 4 / std::sqrt(n));
  EXPECT_NEAR(x.var().item<double>(), 1, 4 * std::sqrt(2 / n));
}

TEST_F(Continuous, WhatIsNotExactSaysSo) {
  for (const std::string options :
       {"--sampler uhmc", "--sampler fhl --always-accept", "--sampler fhl --elastic-energy"}) {
    const Outcome outcome =
        run(kGaussian + "--chains 8 --steps 3 --overwrite --out out " + options);
    EXPECT_NE(outcome.out.find("not exact"), std::string::npos) << outcome.out;
  }
}

TEST_F(Continuous, AdaptsAndStartsWarm) {
  run(kGaussian + "--sampler hmc --adapt --burn-in 100 --steps 50 --out cold");
  const Json cold = Json::parse(file_bytes(dir_ / "cold" / "summary.json"));
  EXPECT_NEAR(cold["acceptance"].get<double>(), 0.651, 0.1);
  run(kGaussian + "--sampler hmc --warm-start cold/summary.json --steps 5 --out warm");
  const Json warm = Json::parse(file_bytes(dir_ / "warm" / "summary.json"));
  EXPECT_EQ(warm["adapted"], cold["adapted"]);
}

TEST_F(Continuous, AProductFollowsTheGradientOfOneFactor) {
  const std::string product =
      "sample --model product --factors gaussian=gaussian.pt,gaussian-mixture=mixture.pt "
      "--sampler hmc --chains 6 --steps 4 --seed 3 ";
  run(product + "--out both");
  const Outcome one =
      run(product + "--gradient-model gaussian-mixture=mixture.pt --out one --json");
  EXPECT_FALSE(torch::equal(draws("both")[0].second, draws("one")[0].second));
  EXPECT_NE(Json::parse(one.out)["gradient_model"].get<std::string>().find("mixture.pt"),
            std::string::npos);
  // The energy is the product's.
  write_pt(dir_ / "states.pt", PtValue{draws("one")[0].second.reshape({24, 2})});
  run("energy --model product --factors gaussian=gaussian.pt,gaussian-mixture=mixture.pt --states "
      "states.pt --out e.pt");
  EXPECT_TRUE(torch::allclose(read_named_tensors(dir_ / "e.pt")[0].second,
                              draws("one")[1].second.reshape({24}), 1e-5, 1e-5));
  // This runs from another directory: the paths in config.toml are absolute.
  const Outcome again = run_program({"sample", "--config", (dir_ / "one" / "config.toml").string(),
                                     "--out", (dir_ / "again").string()});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(file_bytes(dir_ / "one" / "samples.pt"), file_bytes(dir_ / "again" / "samples.pt"));
}

TEST_F(Continuous, ScriptsTakeTheStatesOfTheSampler) {
  const std::string script = "sample --model script --weights script.pt --sites 3 --steps 2 ";
  run(script + "--sampler mala --out real");
  EXPECT_EQ(draws("real")[0].second.scalar_type(), torch::kFloat32);
  run(script + "--sampler gwg --out binary");
  EXPECT_EQ(draws("binary")[0].second.scalar_type(), torch::kUInt8);
  run(script + "--sampler gwg --categories 4 --out one_hot");
  EXPECT_EQ(draws("one_hot")[0].second.max().item<int>(), 3);
  write_pt(dir_ / "states.pt", PtValue{torch::ones({5, 3})});
  run("energy --model script --weights script.pt --sites 3 --states states.pt --out e.pt");
  EXPECT_FLOAT_EQ(read_named_tensors(dir_ / "e.pt")[0].second[0].item<float>(), 0.75);
}

// Discrete samplers take other gradients as well.
TEST_F(Continuous, ADiscreteSamplerTakesAnotherGradient) {
  write_named_tensors(dir_ / "theta.pt", {{"theta", torch::linspace(-1, 1, 9)}});
  run("sample --model rbm --weights rbm.pt --gradient-model bernoulli=theta.pt --sampler gwg "
      "--steps 3 --out out");
}

// Trains an energy network of points in two runs, the second resumed, and then samples it.
TEST_F(Continuous, ScoreMatchingTrainsAnEnergyThatCanBeSampled) {
  write_pt(dir_ / "points.pt", PtValue{torch::linspace(-1, 1, 120).view({60, 2})});
  const std::string train =
      "train --objective dsm --dataset points.pt --noise 0.3 --batch 20 --warmup 5 "
      "--checkpoint-every 5 --seed 2 ";
  run(train + "--iters 12 --out whole --quiet");
  run(train + "--iters 7 --out part --quiet");
  run("train --resume part --iters 12 --quiet");
  EXPECT_EQ(file_bytes(dir_ / "whole" / "ema.pt"), file_bytes(dir_ / "part" / "ema.pt"));
  const std::string metrics = file_bytes(dir_ / "part" / "metrics.jsonl");
  EXPECT_EQ(line_count(metrics), 12);
  const Json line = Json::parse(metrics.substr(0, metrics.find('\n')));
  EXPECT_GT(line["loss"].get<double>(), 0);
  EXPECT_FALSE(line.contains("energy_data"));
  run("sample --model mlp --weights whole/ema.pt --sampler hmc --steps 3 --out draws");
  EXPECT_EQ(draws("draws")[0].second.scalar_type(), torch::kFloat32);
  run("inspect part");
  expect_refused(train + "--iters 3 --sampler pafs",
                 "--sampler cannot be combined with --objective dsm");
  expect_refused(train + "--iters 3 --model rbm", "no continuous states");
  expect_refused("train --dataset strokes --noise 0.2",
                 "--noise cannot be combined with --objective pcd");
}

// The classes of a classifier define energies, for an mlp trained here and for a TorchScript
// module.
TEST_F(Continuous, ClassesOfAClassifierAreEnergies) {
  const std::string train =
      "train --objective classify --dataset strokes --batch 20 --checkpoint-every 2 --quiet ";
  run(train + "--iters 4 --out whole");
  run(train + "--iters 2 --out part");
  run("train --resume part --iters 4 --quiet");
  EXPECT_EQ(file_bytes(dir_ / "whole" / "ema.pt"), file_bytes(dir_ / "part" / "ema.pt"));
  const std::string sample = "sample --model mlp --weights whole/ema.pt --sampler hmc --steps 2 ";
  run(sample + "--class 3 --out three");
  write_pt(dir_ / "states.pt", PtValue{draws("three")[0].second.reshape({200, 784})});
  run("energy --model mlp --weights whole/ema.pt --class 3 --states states.pt --out e.pt");
  EXPECT_TRUE(torch::allclose(read_named_tensors(dir_ / "e.pt")[0].second,
                              draws("three")[1].second.reshape({200}), 1e-4, 1e-5));
  expect_refused(sample, "a classifier of 10 classes; --class Y");
  expect_refused(sample + "--class 10", "--class is 10, but");
  expect_refused(kGaussian + "--sampler hmc --steps 2 --class 1", "gaussian is not a classifier");
  expect_refused("train --objective classify --dataset ring-points", "has no classes");
  expect_refused(train + "--noise 0.1", "--noise cannot be combined with --objective classify");
  expect_refused("sample --instance image-modes --sampler hmc --steps 2",
                 "--dataset NAME is needed");
  expect_refused("sample --instance parity --init instance --sampler lb --steps 2",
                 "--init instance needs");
}

TEST_F(Continuous, HasALogZ) {
  const std::string mixture = "--model gaussian-mixture --weights mixture.pt --start-scale 1.5 ";
  const std::string evaluate = "evaluate " + mixture + "--json --quiet ";
  const Json annealed = Json::parse(
      run(evaluate + "--step-size 0.4 --leapfrog 4 --chains 100 --steps 200 --reverse --out a")
          .out);
  EXPECT_EQ(annealed["sampler"], "hmc");
  const Json rungs = Json::parse(
      run(evaluate + "--sampler mala --adapt --method tempering --chains 10 --steps 300 --out b")
          .out);
  for (const Json& json : {annealed, rungs}) {
    const double error = json["log_z_bidirectional_se"];
    EXPECT_LT(error, 0.05) << json;
    EXPECT_NEAR(json["log_z_bidirectional"], 0, 3 * error) << json;
    EXPECT_EQ(json["verdict"], "closed") << json;
  }
  run("sample " + mixture +
      "--sampler hmc --adapt --rungs auto --chains 10 --burn-in 100 --steps 50 "
      "--quiet --out c");
  EXPECT_EQ(draws("c")[0].second.scalar_type(), torch::kFloat32);
  EXPECT_NE(read_file(dir_ / "c" / "config.toml").find("start-scale = 1.5"), std::string::npos);
}

TEST_F(Continuous, MistakesGetOneLine) {
  const std::string start = kGaussian + "--steps 2 --sampler ";
  expect_refused(start + "fhl --chains 10", "--chains is 10; it must be a multiple of --group 4");
  expect_refused(start + "hmc --step-size 0", "--step-size is 0");
  expect_refused(start + "hmc --step-size -1", "--step-size is -1");
  expect_refused(start + "hmc --leapfrog 0", "--leapfrog is 0");
  expect_refused(start + "fhl --pull nan", "--pull is");
  expect_refused(start + "hmc --gradient-model gaussian=three.pt", "has 3 sites, but");
  expect_refused(start + "hmc --gradient-model gaussian", "NAME=FILE.pt is needed");
  expect_refused(start + "hmc --gradient-model gaussian=none.pt", "none.pt");
  expect_refused(start + "gwg", "these do: ula, mala, uhmc, hmc, fhl");
  expect_refused(start + "mala --factors gaussian=gaussian.pt,gaussian=three.pt", "--factors");
  expect_refused("sample --model product --steps 2 --sampler mala --factors gaussian=gaussian.pt",
                 "two or more");
  expect_refused("sample --model rbm --weights rbm.pt --steps 2 --sampler hmc",
                 "sampler hmc does not fit model rbm");
  expect_refused("sample --model script --weights script.pt --steps 2 --sampler hmc", "--sites D");
  expect_refused("sample --model script --weights gaussian.pt --sites 2 --steps 2 --sampler hmc",
                 "not a TorchScript module");
  expect_refused("evaluate --model gaussian --weights gaussian.pt --sampler ula --steps 2",
                 "ula is not exact");
}

}  // namespace
}  // namespace isinglass::continuous_test
