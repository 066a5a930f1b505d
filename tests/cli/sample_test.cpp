// isinglass sample: its files, its summary, and which results repeat bit for bit.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "tests/support/inputs.h"
#include "tests/support/program.h"

namespace isinglass::sample_test {
namespace {

using Json = nlohmann::json;

class Sample : public ::testing::Test {
 protected:
  void SetUp() override {
    write_ising(dir_ / "ising.pt");
    write_potts(dir_ / "potts.pt");
    write_rbm(dir_ / "rbm.pt");
  }

  Outcome run(const std::string& arguments) {
    const Outcome outcome = run_program("sample " + arguments, {.directory = dir_.path()});
    EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << outcome.err;
    return outcome;
  }

  torch::Tensor samples(const std::string& out) {
    return read_named_tensors(dir_ / out / "samples.pt").at(0).second;
  }

  TemporaryDirectory dir_;
};

const std::string kIsing = "--model ising --weights ising.pt --sampler gwg ";

TEST_F(Sample, OfAStandardTargetByName) {
  const std::string grid = "--instance ising-grid:side=3,coupling=0.4 --sampler gwg --steps 20 ";
  const Json named = Json::parse(run(grid + "--out named --json").out);
  EXPECT_EQ(named["model"], "ising");
  EXPECT_EQ(samples("named").size(2), 9);
  run(grid + "--model ising --out both");
  EXPECT_TRUE(torch::equal(samples("named"), samples("both")));
  run("--config named/config.toml --out repeated");
  EXPECT_TRUE(torch::equal(samples("named"), samples("repeated")));
}

TEST_F(Sample, WritesTheContract) {
  const Outcome outcome = run(
      kIsing + "--radius 2 --chains 7 --burn-in 5 --steps 20 --thin 3 --seed 4 --out out --json");
  const Json summary = Json::parse(outcome.out);
  EXPECT_EQ(outcome.out, file_bytes(dir_ / "out" / "summary.json"));
  EXPECT_EQ(summary["model"], "ising");
  EXPECT_EQ(summary["sampler"], "gwg");
  EXPECT_EQ(summary["chains"], 7);
  EXPECT_EQ(summary["steps"], 20);
  EXPECT_EQ(summary["draws"], 6);
  EXPECT_EQ(summary["seed"], 4);
  EXPECT_EQ(summary["device"], "cpu");
  EXPECT_EQ(summary["non_finite"], 0);
  EXPECT_EQ(summary["energy_evaluations"], 20);
  EXPECT_GT(summary["acceptance"].get<double>(), 0);
  EXPECT_LE(summary["acceptance"].get<double>(), 1);
  EXPECT_GT(summary["hops"].get<double>(), 0);
  const double seconds = summary["seconds"].get<double>();
  EXPECT_GT(seconds, 0);
  EXPECT_DOUBLE_EQ(summary["steps_per_second"].get<double>(), 20 / seconds);
  const Json& ess = summary["ess"];
  const double mean = ess["mean"].get<double>();
  EXPECT_GT(mean, 0);
  EXPECT_DOUBLE_EQ(ess["per_step"].get<double>(), mean / 20);
  EXPECT_DOUBLE_EQ(ess["per_evaluation"].get<double>(), mean / 20);
  EXPECT_DOUBLE_EQ(ess["per_second"].get<double>(), mean / seconds);
  EXPECT_DOUBLE_EQ(ess["per_second_all"].get<double>(), 7 * ess["per_second"].get<double>());
  EXPECT_TRUE(ess["std"].is_number());
  EXPECT_EQ(ess["undefined"], 0);

  const NamedTensors draws = read_named_tensors(dir_ / "out" / "samples.pt");
  ASSERT_EQ(draws.size(), 2u);
  EXPECT_EQ(draws[0].first, "samples");
  EXPECT_EQ(draws[0].second.sizes(), (std::vector<int64_t>{6, 7, 9}));
  EXPECT_EQ(draws[0].second.scalar_type(), torch::kUInt8);
  EXPECT_EQ(draws[1].first, "energy");
  EXPECT_EQ(draws[1].second.sizes(), (std::vector<int64_t>{6, 7}));
  EXPECT_EQ(draws[1].second.scalar_type(), torch::kFloat64);
}

TEST_F(Sample, SavedEnergiesAreThoseOfTheSavedStates) {
  run("--model potts --weights potts.pt --sampler pafs --chains 5 --steps 6 --out out");
  const NamedTensors draws = read_named_tensors(dir_ / "out" / "samples.pt");
  write_pt(dir_ / "states.pt", PtValue{draws[0].second.reshape({30, 5})});
  const Outcome energy =
      run_program("energy --model potts --weights potts.pt --states states.pt --out e.pt",
                  {.directory = dir_.path()});
  ASSERT_EQ(energy.exit_code, 0) << energy.err;
  const NamedTensors recomputed = read_named_tensors(dir_ / "e.pt");
  // Both are float64 sums of nine terms.
  EXPECT_TRUE(torch::allclose(recomputed[0].second, draws[1].second.reshape({30}), 1e-12, 1e-12));
  EXPECT_EQ(recomputed[1].second.sizes(), (std::vector<int64_t>{30, 5, 3}));
}

TEST_F(Sample, WritesPermutationsAsInt64AndStartsFromThem) {
  write_permutation(dir_ / "permutation.pt");
  const std::string model = "--model permutation --weights permutation.pt ";
  for (const std::string sampler : {"lb", "pas"}) {
    run(model + "--chains 6 --steps 8 --sampler " + sampler + " --out " + sampler);
    const NamedTensors draws = read_named_tensors(dir_ / sampler / "samples.pt");
    EXPECT_EQ(draws[0].second.scalar_type(), torch::kInt64);
    const torch::Tensor flat = draws[0].second.reshape({48, 5});
    EXPECT_TRUE(torch::equal(std::get<0>(flat.sort(1)), torch::arange(5).expand({48, 5})));
    write_pt(dir_ / "states.pt", PtValue{flat});
    const Outcome energy = run_program("energy " + model + "--states states.pt --out e.pt",
                                       {.directory = dir_.path()});
    ASSERT_EQ(energy.exit_code, 0) << energy.err;
    const NamedTensors recomputed = read_named_tensors(dir_ / "e.pt");
    EXPECT_EQ(recomputed.size(), 1u);  // no gradient
    EXPECT_TRUE(torch::allclose(recomputed[0].second, draws[1].second.reshape({48}), 1e-6, 1e-6));
    run(model + "--init states.pt --steps 2 --sampler lb --overwrite --out again");
    EXPECT_EQ(samples("again").size(1), 48);
  }
}

TEST_F(Sample, ParityHasItsSitesFromTheCommandLine) {
  write_parity(dir_ / "parity.pt");
  run("--model parity --weights parity.pt --sites 12 --sampler pas --radius 2 --adapt --burn-in 5 "
      "--steps 3 --out out");
  EXPECT_EQ(samples("out").size(2), 12);
}

TEST_F(Sample, RepeatsBitForBitWhateverTheThreads) {
  for (const std::string model : {"ising", "potts", "rbm"}) {
    const std::string command =
        "--model " + model + " --weights " + model +
        ".pt --sampler pafs --radius 2.5 --chains 33 --burn-in 3 --steps 9 ";
    run(command + "--threads 1 --out " + model + "1");
    run(command + "--threads 2 --out " + model + "2");
    EXPECT_EQ(file_bytes(dir_ / (model + "1") / "samples.pt"),
              file_bytes(dir_ / (model + "2") / "samples.pt"));
  }
}

TEST_F(Sample, SeedsDiffer) {
  run(kIsing + "--steps 4 --seed 1 --out a");
  run(kIsing + "--steps 4 --seed 2 --out b");
  EXPECT_FALSE(torch::equal(samples("a"), samples("b")));
}

TEST_F(Sample, ConfigurationRepeatsTheRun) {
  run("--model ising --weights ising.pt --sampler gibbs --scan systematic --chains 4 --steps 6 "
      "--thin 2 --seed 9 --out out");
  const std::string config = file_bytes(dir_ / "out" / "config.toml");
  for (const std::string key : {"out =", "json =", "quiet =", "overwrite =", "config ="}) {
    EXPECT_EQ(config.find(key), std::string::npos) << key;
  }
  EXPECT_NE(config.find("burn-in = 0"), std::string::npos) << config;
  // This runs from another directory: the paths in the file are absolute.
  const Outcome again = run_program({"sample", "--config", (dir_ / "out" / "config.toml").string(),
                                     "--out", (dir_ / "again").string()});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(file_bytes(dir_ / "again" / "samples.pt"), file_bytes(dir_ / "out" / "samples.pt"));
  EXPECT_EQ(file_bytes(dir_ / "again" / "config.toml"), config);
  // Flags override it.
  run("--config out/config.toml --chains 3 --out three");
  EXPECT_EQ(samples("three").size(1), 3);
}

TEST_F(Sample, StartsFromSavedStates) {
  write_pt(dir_ / "init.pt", PtValue{all_states().narrow(0, 100, 6).contiguous()});
  run(kIsing + "--init init.pt --steps 1 --out out");
  EXPECT_EQ(samples("out").size(1), 6);
  // gwg with R = 1 moves one site or stays.
  const torch::Tensor moved =
      samples("out")[0].ne(all_states().narrow(0, 100, 6)).sum(1).to(torch::kInt64);
  EXPECT_LE(moved.max().item<int64_t>(), 1);
}

TEST_F(Sample, StartsFromTrainingImages) {
  write_pt(dir_ / "bars.pt", PtValue{bars()});
  run(kIsing + "--init data --dataset bars.pt --chains 8 --steps 1 --out out");
  const torch::Tensor x = samples("out")[0].to(torch::kFloat32);
  const torch::Tensor images = bars().view({60, 9}).to(torch::kFloat32);
  const torch::Tensor distance = torch::cdist(x, images, 1).amin(1);
  EXPECT_LE(distance.max().item<float>(), 1.01f);  // one step of one site from a training image
}

TEST_F(Sample, WithoutStepsStatisticsAreNull) {
  const Json summary = Json::parse(run(kIsing + "--chains 3 --steps 0 --out out --json").out);
  for (const std::string key : {"acceptance", "hops", "steps_per_second"}) {
    EXPECT_TRUE(summary[key].is_null()) << key;
  }
  EXPECT_TRUE(summary["ess"]["mean"].is_null());
  EXPECT_EQ(summary["ess"]["undefined"], 3);
  EXPECT_EQ(samples("out").sizes(), (std::vector<int64_t>{0, 3, 9}));
}

TEST_F(Sample, NoSamplesKeepsTheSummary) {
  run(kIsing + "--steps 5 --no-samples --no-cuda-graph --out out");
  EXPECT_FALSE(std::filesystem::exists(dir_ / "out" / "samples.pt"));
  EXPECT_TRUE(std::filesystem::exists(dir_ / "out" / "summary.json"));
}

TEST_F(Sample, OverwriteReplacesARunAndNothingElse) {
  run(kIsing + "--steps 5 --out out");
  write_pt(dir_ / "out" / "mine.pt", PtValue{bars()});
  run(kIsing + "--steps 2 --no-samples --overwrite --out out");
  EXPECT_FALSE(std::filesystem::exists(dir_ / "out" / "samples.pt"));
  EXPECT_TRUE(std::filesystem::exists(dir_ / "out" / "mine.pt"));
}

TEST_F(Sample, AdaptsInBurnInAndStartsWarm) {
  for (const std::string sampler : {"rwm", "gwg", "pafs"}) {
    SCOPED_TRACE(sampler);
    const std::string base = "--model ising --weights ising.pt --steps 20 --sampler " + sampler;
    run(base + " --adapt --burn-in 50 --out first --overwrite");
    const Json first = Json::parse(file_bytes(dir_ / "first" / "summary.json"));
    const double radius = first["adapted"]["radius"].get<double>();
    EXPECT_GE(radius, 1);
    EXPECT_LE(radius, 9);
    EXPECT_EQ(first["exact"], true);
    run(base + " --warm-start first/summary.json --out second --overwrite");
    const Json second = Json::parse(file_bytes(dir_ / "second" / "summary.json"));
    EXPECT_EQ(second["adapted"]["radius"].get<double>(), radius);
    run(base + " --warm-start first/summary.json --radius 3 --out third --overwrite");
    const Json third = Json::parse(file_bytes(dir_ / "third" / "summary.json"));
    EXPECT_EQ(third["adapted"]["radius"].get<double>(), 3);
  }
}

TEST_F(Sample, ListsSamplersAndModels) {
  const std::string text = run("--list").out;
  for (const std::string name : {"rwm", "gibbs", "gwg", "pafs", "ising", "resnet"}) {
    EXPECT_NE(text.find("\n  " + name), std::string::npos) << name;
  }
  const Json list = Json::parse(run("--list --json").out);
  EXPECT_GE(list["samplers"].size(), 4u);
  EXPECT_GE(list["models"].size(), 7u);
}

TEST_F(Sample, QuietIsSilentOnStderr) {
  EXPECT_EQ(run(kIsing + "--steps 5 --quiet --out out").err, "");
}

TEST_F(Sample, FullDiskLeavesNothing) {
  const Outcome outcome =
      run_program("sample " + kIsing + "--chains 100 --steps 100 --out deep/out --quiet",
                  {.largest_file = 20000, .directory = dir_.path()});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(line_count(outcome.err), 1) << outcome.err;
  EXPECT_NE(outcome.err.find("samples.pt"), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(dir_ / "deep"));
}

TEST_F(Sample, InterruptionSavesTheDraws) {
  Program program(words("sample --model ising --weights " + (dir_ / "ising.pt").string() +
                        " --sampler gwg --steps 4000000 --thin 1000000 --out " +
                        (dir_ / "out").string()));
  ASSERT_TRUE(
      program.reaches([&] { return std::filesystem::exists(dir_ / "out" / "config.toml"); }));
  program.signal(SIGTERM);
  const Outcome outcome = program.wait();
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_NE(outcome.err.find("isinglass: interrupted"), std::string::npos) << outcome.err;
  const Json summary = Json::parse(file_bytes(dir_ / "out" / "summary.json"));
  EXPECT_LT(summary["steps_done"].get<int64_t>(), 4000000);
  EXPECT_EQ(samples("out").size(0), summary["draws"].get<int64_t>());
}

}  // namespace
}  // namespace isinglass::sample_test
