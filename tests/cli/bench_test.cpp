// isinglass bench reports times of every stage that a model and a sampler have, compares earlier
// results, and refuses results that do not fit.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/inputs.h"
#include "tests/support/program.h"

namespace isinglass::bench_test {
namespace {

using Json = nlohmann::json;

const std::string kQuick = " --chains 4 --threads 1 --warm-up 1 --repeats 2 --json --quiet ";
const std::string kStages = "energy,energy-gradient,proposal,acceptance,step";

class Bench : public ::testing::Test {
 protected:
  void SetUp() override {
    write_ising(dir_ / "ising.pt");
    write_potts(dir_ / "potts.pt");
    write_rbm(dir_ / "rbm.pt");
    write_permutation(dir_ / "permutation.pt");
  }

  Outcome run(const std::string& arguments) {
    return run_program("bench " + arguments, {.directory = dir_.path()});
  }

  Json result(const std::string& arguments) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << outcome.err;
    EXPECT_EQ(outcome.err, "") << arguments;
    return Json::parse(outcome.out);
  }

  void expect_refused(const std::string& arguments, const std::vector<std::string>& said) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments << "\n" << outcome.err;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_EQ(line_count(outcome.err), 1) << arguments << "\n" << outcome.err;
    for (const std::string& word : said) {
      EXPECT_NE(outcome.err.find(word), std::string::npos)
          << arguments << "\nlacks '" << word << "': " << outcome.err;
    }
  }

  TemporaryDirectory dir_;
};

// Checks the times of the stages and returns their names.
std::set<std::string> names_of(const Json& stages) {
  std::set<std::string> names;
  for (const Json& stage : stages) {
    names.insert(stage["name"]);
    const Json& ms = stage["milliseconds"];
    EXPECT_GT(ms["least"].get<double>(), 0) << stage;
    EXPECT_LE(ms["least"], ms["median"]) << stage;
    EXPECT_LE(ms["median"], ms["most"]) << stage;
    EXPECT_NEAR(stage["calls_per_second"].get<double>() * ms["median"].get<double>(), 1000, 1e-6);
  }
  return names;
}

const Json& stage_of(const Json& result, const std::string& name) {
  for (const char* list : {"stages", "bounds"}) {
    for (const Json& stage : result[list]) {
      if (stage["name"] == name) return stage;
    }
  }
  throw std::runtime_error("no stage " + name);
}

TEST_F(Bench, WritesATraceOfOneCall) {
  result("--model resnet --image 6x6 --channels 2 --stages energy-gradient --profile --out traced" +
         kQuick);
  std::ifstream in(dir_ / "traced/profile.json");
  const Json trace = Json::parse(in);
  std::set<std::string> operators;
  for (const Json& event : trace["traceEvents"]) {
    if (event.contains("name")) operators.insert(event["name"].get<std::string>());
  }
  EXPECT_TRUE(operators.contains("aten::convolution_backward"));
  expect_refused("--model ising --weights ising.pt --sampler gwg --profile" + kQuick, {"--out"});
}

TEST_F(Bench, TimesEveryStageBesideTheBounds) {
  const Json json = result(
      "--model rbm --weights rbm.pt --steps-per-iter 2 --chains 4 --rungs 2 --warm-up 1 --repeats "
      "1 "
      "--json --quiet");
  EXPECT_EQ(names_of(json["stages"]),
            (std::set<std::string>{"energy", "energy-gradient", "proposal", "acceptance", "step",
                                   "scan", "ais-step", "training-iteration"}));
  EXPECT_EQ(names_of(json["bounds"]),
            (std::set<std::string>{"sgemm-1024", "sgemm-2048", "sgemm-4096", "copy"}));
  EXPECT_EQ(json["model"], "rbm");
  EXPECT_EQ(json["sampler"], "pafs");
  EXPECT_EQ(json["chains"], 4);
  EXPECT_EQ(json["device"], "cpu");
  EXPECT_EQ(json["settings"]["radius"], 5);
  EXPECT_FALSE(json["machine"]["cpu"].get<std::string>().empty());
  EXPECT_EQ(json["command"].get<std::string>().rfind("isinglass bench --model rbm ", 0), 0u);

  // 4 chains, 9 visible and 4 hidden units: a product of 2·9·4 operations forwards, and one back.
  const Json& gradient = stage_of(json, "energy-gradient");
  EXPECT_NEAR(gradient["gflop"].get<double>(), 4 * 4 * 36e-9, 1e-15);
  EXPECT_DOUBLE_EQ(stage_of(json, "step")["gflop"].get<double>(), gradient["gflop"].get<double>());
  const double rate = gradient["gflop_per_second"].get<double>();
  double sgemm = 0;
  for (const Json& bound : json["bounds"])
    sgemm = std::max(sgemm, bound.value("gflop_per_second", 0.0));
  EXPECT_DOUBLE_EQ(gradient["of_sgemm"].get<double>(), rate / sgemm);
  EXPECT_DOUBLE_EQ(stage_of(json, "copy")["of_copy"].get<double>(), 1);
}

TEST_F(Bench, TimesANewResNet) {
  const Json json = result("--model resnet --channels 2 --image 8x8 --steps-per-iter 2 --stages " +
                           kStages + ",ais-step,training-iteration" + kQuick);
  EXPECT_EQ(names_of(json["stages"]),
            (std::set<std::string>{"energy", "energy-gradient", "proposal", "acceptance", "step",
                                   "ais-step", "training-iteration"}));
  EXPECT_TRUE(json["bounds"].empty());
  EXPECT_FALSE(stage_of(json, "step").contains("of_sgemm"));
  EXPECT_GT(stage_of(json, "training-iteration")["gflop"].get<double>(),
            3 * stage_of(json, "step")["gflop"].get<double>());
}

TEST_F(Bench, HasTheStagesThatModelAndSamplerHave) {
  const std::string ising = "--model ising --weights ising.pt --sampler ";
  const Json gwg = result(ising + "gwg --stages " + kStages + ",ais-step" + kQuick);
  EXPECT_EQ(names_of(gwg["stages"]), (std::set<std::string>{"energy", "energy-gradient", "proposal",
                                                            "acceptance", "step", "ais-step"}));
  EXPECT_FALSE(stage_of(gwg, "energy").contains("gflop"));
  EXPECT_GT(stage_of(gwg, "energy")["gigabytes"].get<double>(), 0);
  result(ising + "lb --stages energy-differences,proposal,acceptance,step,ais-step" + kQuick);
  result(ising + "pas --radius 3 --stages proposal,acceptance,step" + kQuick);
  result(ising + "lsb-1 --burn-in 5 --stages proposal,acceptance,step" + kQuick);
  result(ising + "gibbs --scan chromatic --stages energy,step,ais-step" + kQuick);
  // Two products of 4 x 9 weights, of which an energy takes one.
  const Json sweep = result(
      "--model rbm --weights rbm.pt --sampler gibbs --scan chromatic "
      "--stages energy,step" +
      kQuick);
  EXPECT_EQ(stage_of(sweep, "step")["gflop"].get<double>(),
            2 * stage_of(sweep, "energy")["gflop"].get<double>());
  expect_refused(ising + "gibbs --stages proposal", {"--stages names proposal", "conditionals"});
  result(ising + "gibbs --scan chromatic --rungs 4 --stages scan" + kQuick);
  const auto scan = [&](const std::string& more) {
    return stage_of(result("--model rbm --weights rbm.pt --rungs 2 --stages scan" + more + kQuick),
                    "scan");
  };
  const Json one = scan(""), many = scan(" --exploration 60");
  EXPECT_DOUBLE_EQ(many["gflop"].get<double>(), 60 * one["gflop"].get<double>());
  EXPECT_GT(many["milliseconds"]["median"].get<double>(),
            5 * one["milliseconds"]["median"].get<double>());
  expect_refused(ising + "gwg --rungs 3 --stages scan --chains 4",
                 {"--stages names scan", "--chains 4", "--rungs 3"});
  expect_refused(ising + "lsb-1 --rungs 2 --burn-in 5 --stages scan --chains 4",
                 {"lsb-1", "learn"});
  expect_refused("--model potts --weights potts.pt --sampler gwg --stages training-iteration",
                 {"potts", "cannot be trained"});
  expect_refused("--model rbm --weights rbm.pt --sampler gibbs --scan chromatic --stages ais-step",
                 {"chromatic"});
  expect_refused("--model permutation --weights permutation.pt --sampler lb --stages ais-step",
                 {"permutation", "independent uniform sites"});
}

TEST_F(Bench, ComparesWithAnEarlierResult) {
  const std::string command =
      "--model ising --weights ising.pt --sampler gwg --stages energy,step" + kQuick;
  const Json first = result(command + "--out first");
  EXPECT_EQ(first, Json::parse(file_bytes(dir_ / "first" / "bench.json")));
  const Json config = file_bytes(dir_ / "first" / "config.toml");
  EXPECT_NE(config.get<std::string>().find("stages = "), std::string::npos);
  expect_refused(command + "--out first", {"first", "--overwrite"});

  const Json again = result(command + "--compare first/bench.json");
  const Json& same = again["comparison"];
  EXPECT_TRUE(same["changed"].empty()) << same["changed"];
  EXPECT_EQ(same["file"], "first/bench.json");
  ASSERT_EQ(same["stages"].size(), 2u);
  EXPECT_EQ(same["stages"][1]["then"], stage_of(first, "step")["milliseconds"]);
  EXPECT_DOUBLE_EQ(same["stages"][1]["ratio"].get<double>(),
                   stage_of(again, "step")["milliseconds"]["median"].get<double>() /
                       stage_of(first, "step")["milliseconds"]["median"].get<double>());

  // A result a thousand times slower is beyond any spread; other differences are reported, too.
  Json slow = first;
  for (Json& stage : slow["stages"]) {
    for (const char* key : {"median", "least", "most"}) {
      stage["milliseconds"][key] = 1e3 * stage["milliseconds"][key].get<double>();
    }
  }
  slow["settings"]["chains"] = 5;
  std::ofstream(dir_ / "slow.json") << slow;
  const Outcome outcome =
      run("--model ising --weights ising.pt --sampler gwg --stages energy,step --chains 4 "
          "--threads 1 --repeats 2 --compare slow.json");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const std::string line : {"chains: now 4, then 5", "faster, beyond the spread"}) {
    EXPECT_NE(outcome.out.find(line), std::string::npos) << outcome.out;
  }
}

TEST_F(Bench, RefusesWhatDoesNotFit) {
  std::ofstream(dir_ / "text.json") << "not JSON";
  std::ofstream(dir_ / "times.json")
      << R"({"stages": [{"name": "step"}], "bounds": [], "settings": {}, "machine": {}})";
  const std::string ising = "--model ising --weights ising.pt --sampler gwg ";
  expect_refused("", {"--model", "required"});
  expect_refused("--model potts", {"weights"});
  expect_refused("--model resnet --sampler pfas", {"pfas", "pafs"});
  expect_refused("--model resnet --sites 9", {"--sites", "--image"});
  expect_refused("--model resnet --channels 100000000", {"--channels", "memory"});
  expect_refused("--model rbm --weights rbm.pt --hidden 3", {"--hidden", "--weights"});
  expect_refused(ising + "--chains 100000000", {"--chains 100000000", "memory"});
  expect_refused(ising + "--stages energy,setp", {"setp", "known: step"});
  for (const std::string file : {"text.json", "times.json"}) {
    expect_refused(ising + "--compare " + file, {file, "not a result"});
  }
}

}  // namespace
}  // namespace isinglass::bench_test
