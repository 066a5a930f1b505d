// isinglass evaluate, energy and inspect.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/cli/evaluate_fixture.h"

namespace isinglass::evaluate_test {
namespace {

using Json = nlohmann::json;

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

TEST_F(Evaluate, LogZIsThatOfTheTemperature) {
  const double exact = torch::logsumexp(-energies("ising") / 2.5, 0).item<double>();
  const Json ais =
      Json::parse(run("evaluate --model ising --weights ising.pt --chains 200 --steps 100 "
                      "--sampler gwg --json --temperature 2.5 --out warm")
                      .out);
  EXPECT_NEAR(ais["log_z"].get<double>(), exact, 4 * ais["log_z_se"].get<double>());
  EXPECT_LT(ais["log_z_se"].get<double>(), 0.1);
}

TEST_F(Evaluate, LikelihoodsFollowFromLogZ) {
  const torch::Tensor energy = energies("rbm");
  const Json ais =
      Json::parse(run("evaluate --model rbm --weights rbm.pt --dataset bars.pt --chains 100 "
                      "--steps 100 --sampler pafs --radius 2 --no-reverse --json --out out")
                      .out);
  ASSERT_EQ(ais["log_likelihood"].size(), 3u);
  // Six distinct images in equal numbers over all splits together: 48 + 6 + 6 images.
  const torch::Tensor images = bars().view({60, 9}).to(torch::kInt64);
  const torch::Tensor index =
      images.mul(torch::ones({9}, torch::kInt64) * torch::pow(2, torch::arange(9))).sum(1);
  const double mean_energy = energy.index_select(0, index).mean().item<double>();
  const auto nats = [&](const char* split) {
    return ais["log_likelihood"][split]["forward"].get<double>();
  };
  const double mean = (48 * nats("train") + 6 * nats("validation") + 6 * nats("test")) / 60;
  EXPECT_NEAR(mean, -mean_energy - ais["log_z"].get<double>(), 1e-4);  // float32 free energies
  EXPECT_NEAR(ais["bits_per_dim"]["test"].get<double>(), -nats("test") / (9 * std::log(2.0)),
              1e-12);
}

// Quantities that one chain cannot give are undefined, and every likelihood is reported as open.
TEST_F(Evaluate, OneChainHasNoStandardError) {
  for (const std::string schedule : {"linear", "adaptive"}) {
    const std::string command =
        "evaluate --model rbm --weights rbm.pt --dataset bars.pt --sampler pafs --radius 2 "
        "--chains 1 --steps 50 --no-reverse --quiet --schedule " +
        schedule;
    const std::string text = run(command + " --out " + schedule).out;
    EXPECT_NE(text.find("± undefined"), std::string::npos) << text;
    EXPECT_NE(text.find("overstates likelihoods"), std::string::npos) << text;
    const Json ais = Json::parse(file_bytes(dir_ / schedule / "ais.json"));
    EXPECT_TRUE(ais["log_z"].is_number());
    EXPECT_TRUE(ais["log_z_se"].is_null());
    EXPECT_EQ(ais["verdict"], "open");
    EXPECT_EQ(ais["reason"], "weight ESS 1.0 of 1; forward annealing alone");
    EXPECT_FALSE(ais.contains("bracket"));
    for (const char* split : {"train", "validation", "test"}) {
      EXPECT_NE(text.find(ais["log_likelihood_text"][split].get<std::string>()), std::string::npos);
      EXPECT_TRUE(ais["log_likelihood"][split]["reverse"].is_null());
    }
    EXPECT_NE(text.find(ais["note"].get<std::string>()), std::string::npos);
  }
}

// An RBM of few hidden units has exact draws, its sweeps the joint path.
TEST_F(Evaluate, BothWaysOfAnRbmAreClosed) {
  const double exact = torch::logsumexp(-energies("rbm"), 0).item<double>();
  const std::string command =
      "evaluate --model rbm --weights rbm.pt --dataset bars.pt --chains 100 --steps 100 --quiet ";
  const std::string text = run(command + "--reverse --out out").out;
  const Json ais = Json::parse(file_bytes(dir_ / "out" / "ais.json"));
  EXPECT_EQ(ais["sampler"], "gibbs");
  EXPECT_EQ(ais["path"], "joint");
  EXPECT_EQ(ais["reverse_start"]["from"], "exact");
  EXPECT_EQ(ais["verdict"], "closed");
  EXPECT_TRUE(ais["reason"].is_null());
  EXPECT_NE(text.find("nats (closed: from "), std::string::npos) << text;
  const double low = ais["log_z"], high = ais["log_z_upper"], both = ais["log_z_bidirectional"];
  EXPECT_NEAR(ais["bracket"].get<double>(), high - low, 1e-12);
  EXPECT_LE(low - 4 * ais["log_z_se"].get<double>(), exact);
  EXPECT_GE(high + 4 * ais["log_z_upper_se"].get<double>(), exact);
  EXPECT_NEAR(both, exact, 4 * ais["log_z_bidirectional_se"].get<double>() + 1e-6);
  const Json nats = ais["log_likelihood"]["test"];
  EXPECT_NEAR(nats["bidirectional"].get<double>() - nats["forward"].get<double>(), low - both,
              1e-9);
  const PtDict chains = std::get<PtDict>(read_pt(dir_ / "out" / "chains.pt").value);
  EXPECT_EQ(chains.size(), 4u);
  // A bracket that is too narrow is never closed, and the time limit says how long to try.
  const Json narrow =
      Json::parse(run(command + "--bracket 0 --until-closed 0.001 --json --out b").out);
  EXPECT_EQ(narrow["verdict"], "open");
  EXPECT_EQ(narrow["steps"], 100);
  EXPECT_NE(narrow["until_closed"].get<std::string>().find("still open at 100 temperatures"),
            std::string::npos);
}

// The number of temperatures doubles until the bracket is closed; each round is a point of the
// curve.
TEST_F(Evaluate, DoublesUntilItIsClosed) {
  const Json ais = Json::parse(
      run("evaluate --model rbm --weights rbm.pt --chains 12 --steps 1 --bracket 0.05 --seed 1 "
          "--until-closed 60 --quiet --json --out out")
          .out);
  EXPECT_EQ(ais["verdict"], "closed");
  ASSERT_GT(ais["curve"].size(), 1u);
  for (size_t i = 0; i < ais["curve"].size(); ++i) {
    EXPECT_EQ(ais["curve"][i][0], 1 << i);
  }
  EXPECT_EQ(ais["steps"], ais["curve"].back()[0]);
  EXPECT_EQ(ais["curve"].back()[1], ais["log_z"]);
}

// Reverse chains may start from the draws of a run, with their R-hat, or from other states.
TEST_F(Evaluate, ReverseChainsStartFromAFile) {
  run("sample --model ising --weights ising.pt --sampler gwg --chains 20 --burn-in 50 --steps 200 "
      "--quiet --out run");
  const std::string command =
      "evaluate --model ising --weights ising.pt --sampler gwg --chains 40 --steps 200 --quiet "
      "--json ";
  const Json draws = Json::parse(run(command + "--reverse-from run/samples.pt --out a").out);
  EXPECT_LT(draws["reverse_start"]["rhat"].get<double>(), 1.05);
  EXPECT_EQ(draws["verdict"], "closed") << draws["reason"];
  const Json states = Json::parse(run(command + "--reverse-from states.pt --out b").out);
  EXPECT_TRUE(states["reverse_start"]["rhat"].is_null());
  EXPECT_NE(states["reason"].get<std::string>().find("R-hat of the reverse start is not known"),
            std::string::npos);
  const Outcome few = run_program(
      "evaluate --model ising --weights ising.pt --chains 600 --reverse-from states.pt --out c",
      {.directory = dir_.path()});
  EXPECT_EQ(few.exit_code, 2);
  EXPECT_NE(few.err.find("holds 512 states"), std::string::npos) << few.err;
  EXPECT_EQ(line_count(few.err), 1) << few.err;
}

// The evaluation runs its own ladder, and states its R-hat and round trips.
TEST_F(Evaluate, ReverseChainsStartFromALadder) {
  const double exact = torch::logsumexp(-energies("ising"), 0).item<double>();
  const Json ais = Json::parse(
      run("evaluate --model ising --weights ising.pt --sampler gwg --chains 60 --steps 400 "
          "--reverse-from tempering --rungs 4 --quiet --json --out out")
          .out);
  const Json& start = ais["reverse_start"];
  EXPECT_EQ(start["from"], "tempering");
  EXPECT_LT(start["rhat"].get<double>(), 1.05);
  EXPECT_EQ(start["steps"], 1024 + 512);
  EXPECT_EQ(start["rungs"], 4);
  EXPECT_GT(start["round_trips"].get<double>(), 10);
  EXPECT_EQ(ais["verdict"], "closed") << ais["reason"];
  EXPECT_NEAR(ais["log_z_bidirectional"].get<double>(), exact,
              4 * ais["log_z_bidirectional_se"].get<double>());
}

// Fewer than eight ensembles give no standard error. The program warns of this before the run.
TEST_F(Evaluate, FewEnsemblesAreSaidToLeaveTheVerdictOpen) {
  const std::string command =
      "evaluate --model ising --weights ising.pt --method tempering --rungs 4 --steps 40 --sampler "
      "gwg ";
  const Outcome few = run(command + "--chains 7 --out few");
  EXPECT_NE(few.err.find("will be open; --chains must be at least 8"), std::string::npos)
      << few.err;
  EXPECT_EQ(Json::parse(file_bytes(dir_ / "few" / "ais.json"))["verdict"], "open");
  EXPECT_EQ(run(command + "--chains 8 --out enough").err.find("warning"), std::string::npos);

  const Outcome never =
      run_program(command + "--chains 7 --until-closed 60 --out never", {.directory = dir_.path()});
  EXPECT_EQ(never.exit_code, 2);
  EXPECT_NE(never.err.find("--until-closed needs --chains 8 or more"), std::string::npos)
      << never.err;
  EXPECT_EQ(line_count(never.err), 1) << never.err;
}

class InterruptedEvaluation : public Evaluate, public ::testing::WithParamInterface<const char*> {};

TEST_P(InterruptedEvaluation, GoesOnToTheSameResult) {
  const std::string command = "evaluate --model ising --weights " + (dir_ / "ising.pt").string() +
                              " --threads 1 --quiet --json " + GetParam() + " --out ";
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

std::string method_title(const testing::TestParamInfo<const char*>& info) {
  static const std::vector<std::string> titles = {"Annealing", "Tempering", "ReverseFromALadder"};
  return titles.at(info.index);
}

INSTANTIATE_TEST_SUITE_P(Methods, InterruptedEvaluation,
                         testing::Values("--chains 50 --steps 10000 --sampler gwg --reverse",
                                         "--method tempering --chains 10 --steps 4000 --rungs 6 "
                                         "--sampler dlp --adapt",
                                         "--chains 50 --steps 8000 --sampler gwg "
                                         "--reverse-from tempering"),
                         method_title);

// Cards of trained weights name them by their hash.
TEST_F(Evaluate, CardsNameTheirWeights) {
  const std::filesystem::path folder = ISINGLASS_SOURCE_DIR "/weights";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no source tree here";
  int cards = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".pt") continue;
    const Json weights = Json::parse(run("inspect --json " + entry.path().string()).out);
    const std::string card =
        file_bytes(std::filesystem::path(entry.path()).replace_extension(".md"));
    EXPECT_NE(card.find(weights["sha256"].get<std::string>()), std::string::npos) << entry.path();
    ++cards;
  }
  EXPECT_GT(cards, 0);
}

// The checkpoint of an annealing run that was interrupted.
class StoppedEvaluation : public Evaluate {
 protected:
  void stop(const std::string& more) {
    Program program(words("evaluate --model rbm --weights " + (dir_ / "rbm.pt").string() +
                          " --sampler pafs --chains 50 --steps 30000 --threads 1 --quiet --out " +
                          (dir_ / "out").string() + more));
    ASSERT_TRUE(
        program.reaches([&] { return std::filesystem::exists(dir_ / "out" / "config.toml"); }));
    usleep(50000);
    program.signal(SIGINT);
    ASSERT_EQ(program.wait().exit_code, 130);
  }
  void expect_refused(const std::string& word) {
    const Outcome refused =
        run_program("evaluate --quiet --resume out", {.directory = dir_.path()});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_EQ(line_count(refused.err), 1) << refused.err;
    EXPECT_NE(refused.err.find(word), std::string::npos) << refused.err;
    EXPECT_TRUE(std::filesystem::exists(dir_ / "out" / "ais-checkpoint.pt"));
    EXPECT_FALSE(std::filesystem::exists(dir_ / "out" / "ais.json"));
  }
};

// A training run that continues overwrites the file.
TEST_F(StoppedEvaluation, IsNotResumedWithOtherWeights) {
  stop("");
  NamedTensors rbm = read_named_tensors(dir_ / "rbm.pt");
  rbm.at(0).second = rbm.at(0).second * 1.001;
  write_named_tensors(dir_ / "rbm.pt", rbm);
  expect_refused("with other parameters: their SHA-256");
}

TEST_F(StoppedEvaluation, IsNotResumedWithOtherData) {
  stop(" --dataset " + (dir_ / "bars.pt").string());
  torch::Tensor other = bars();
  other[3][0][0] = 1 - other[3][0][0];
  write_pt(dir_ / "bars.pt", PtValue{other});
  expect_refused("with other data: their SHA-256");
}

// The file lies outside of a run's directory, where nothing else gives the size.
TEST_F(Evaluate, TakesTheSizeOfImagesFromTheData) {
  run("train --model resnet --channels 2 --dataset bars.pt --sampler gwg --iters 2 --batch 4 "
      "--buffer 8 --steps-per-iter 1 --quiet --out trained");
  std::filesystem::copy(dir_ / "trained" / "weights.pt", dir_ / "alone.pt");
  const std::string evaluate =
      "evaluate --model resnet --weights alone.pt --sampler gwg --steps 3 --chains 2 --quiet "
      "--dataset bars.pt";
  run(evaluate + " --out alone");
  const Outcome other =
      run_program(evaluate + " --image 4x4 --out other", {.directory = dir_.path()});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.err.find("an image of 4x4"), std::string::npos) << other.err;
}

// The model carries no base distribution, so that annealing starts from the data's mean. The images
// in another order change only the data.
TEST_F(StoppedEvaluation, IsNotResumedWithDataInAnotherOrder) {
  stop(" --dataset " + (dir_ / "bars.pt").string());
  write_pt(dir_ / "bars.pt", PtValue{bars().flip(0)});
  expect_refused("with other data: their SHA-256");
}

TEST_F(StoppedEvaluation, NamesTheProgramsThatMadeIt) {
  stop("");
  PtDict checkpoint = std::get<PtDict>(read_pt(dir_ / "out" / "ais-checkpoint.pt").value);
  for (auto& [key, value] : checkpoint) {
    if (key == "revisions") value = PtValue{PtList{PtValue{std::string("1f2e3d")}}};
  }
  write_pt(dir_ / "out" / "ais-checkpoint.pt", PtValue{checkpoint});
  const Json ais = Json::parse(run("evaluate --quiet --json --resume out").out);
  EXPECT_EQ(ais["earlier_revisions"], Json({"1f2e3d"}));
  const std::string version = run("--version").out;
  EXPECT_NE(version.find("(" + ais["revision"].get<std::string>() + ")\n"), std::string::npos)
      << version;
}

// With the same weights and data, all files carry the same hashes, wherever they lie.
TEST_F(Evaluate, ResultsSayWhatTheyAreOf) {
  std::filesystem::create_directory(dir_ / "elsewhere");
  for (const char* name : {"rbm.pt", "bars.pt"}) {
    std::filesystem::copy(dir_ / name, dir_ / "elsewhere" / name);
  }
  const std::string common = " --sampler pafs --radius 2 --chains 3 --quiet --json ";
  const Json first = Json::parse(
      run("evaluate --model rbm --weights rbm.pt --dataset bars.pt --steps 5 --out a" + common)
          .out);
  const Json second = Json::parse(run("evaluate --model rbm --weights elsewhere/rbm.pt --dataset "
                                      "elsewhere/bars.pt --steps 5 --out b" +
                                      common)
                                      .out);
  const Json sample =
      Json::parse(run("sample --model rbm --weights rbm.pt --init data --dataset bars.pt --steps 5 "
                      "--out c" +
                      common)
                      .out);
  const Json weights = Json::parse(run("inspect rbm.pt --json").out);
  for (const Json& result : {first, second, sample}) {
    for (const char* key : {"parameters_sha256", "data_sha256", "sampler_options", "revision"}) {
      EXPECT_EQ(result[key], first[key]) << key;
    }
    EXPECT_EQ(result["parameters_sha256"], weights["sha256"]);
    EXPECT_EQ(result["sampler_options"],
              Json({{"radius", 2.0}, {"adapt", false}, {"balancing", "sqrt"}}));
    EXPECT_EQ(result["data_sha256"].get<std::string>().size(), 64u);
  }
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
  EXPECT_EQ(result[0].second.scalar_type(), torch::kFloat64);
  EXPECT_EQ(result[1].first, "gradient");
  EXPECT_EQ(result[1].second.sizes(), (std::vector<int64_t>{512, 9}));
  // U(0) = −Σ softplus(b_h), ∇U(0) = −b_v − Wᵀσ(b_h).
  const torch::Tensor b_h = torch::linspace(-0.1, 0.3, 4), b_v = torch::linspace(-0.3, 0.2, 9);
  const torch::Tensor w = torch::linspace(-0.5, 0.6, 36).view({4, 9});
  EXPECT_NEAR(result[0].second[0].item<double>(), -torch::softplus(b_h).sum().item<double>(), 1e-5);
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

// A picture of draws [draws, chains, sites] shows the last ones, as many as fit, in their order.
TEST_F(Evaluate, InspectPicturesTheLastDraws) {
  torch::Generator generator = torch::make_generator<at::CPUGeneratorImpl>(5);
  const torch::Tensor draws = torch::randint(0, 2, {5, 20, 9}, generator, torch::kUInt8);
  const auto pictured = [&](const torch::Tensor& states) {
    write_pt(dir_ / "draws.pt", PtValue{states.contiguous()});
    EXPECT_EQ(run("inspect draws.pt --image 3x3 --out draws.png").exit_code, 0);
    return file_bytes(dir_ / "draws.png");
  };
  EXPECT_EQ(pictured(draws), pictured(draws.narrow(0, 2, 3).flatten(0, 1)));
  const torch::Tensor many = torch::cat({draws, draws, draws, draws}, 1);  // 80 chains
  EXPECT_EQ(pictured(many), pictured(many[4]));
}

}  // namespace
}  // namespace isinglass::evaluate_test
