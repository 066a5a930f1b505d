// isinglass sample on graph problems: the annealed run, the best solution, and what is refused.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <nlohmann/json.hpp>

#include "io/files.h"
#include "io/pt/pt_file.h"
#include "tests/support/inputs.h"
#include "tests/support/program.h"

namespace isinglass::graph_problem_test {
namespace {

using Json = nlohmann::json;

// Petersen's graph: its largest cut has 12 edges, its largest independent set 4 vertices, its
// largest clique 2 (it has no triangle).
std::string petersen() {
  std::string edges = "# Petersen's graph\n";
  for (int i = 0; i < 5; ++i) {
    const auto line = [](int u, int v) {
      return std::to_string(u) + " " + std::to_string(v) + "\n";
    };
    edges += line(i, (i + 1) % 5) + line(i, i + 5) + line(i + 5, (i + 2) % 5 + 5);
  }
  return edges;
}

class GraphSample : public testing::Test {
 protected:
  void SetUp() override { write_file(dir_ / "graph.txt", petersen()); }

  Outcome sample(const std::string& arguments) {
    return run_program("sample --weights graph.txt --quiet " + arguments,
                       {.directory = dir_.path()});
  }
  Json summary(const std::string& arguments) {
    const Outcome outcome = sample(arguments + " --json --overwrite --out out");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out);
  }

  TemporaryDirectory dir_;
};

// Chains stand still at the end, as intended, and may be in different optima.
TEST_F(GraphSample, AnnealedRunsEndWithoutAWarning) {
  const Outcome outcome = run_program(
      "sample --weights graph.txt --model maxcut --sampler gibbs --anneal 2,0.02 --burn-in 400 "
      "--steps 200 --chains 20 --out cooled",
      {.directory = dir_.path()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err.find("warning"), std::string::npos) << outcome.err;
}

TEST_F(GraphSample, AnnealedRunsFindTheOptimum) {
  const std::map<std::string, double> optima = {{"maxcut", 12}, {"mis", 4}, {"maxclique", 2}};
  for (const auto& [problem, optimum] : optima) {
    for (const std::string sampler : {"dlp", "pafs"}) {
      SCOPED_TRACE(problem + " " + sampler);
      const Json found =
          summary("--model " + problem + " --sampler " + sampler + " --optimum " +
                  std::to_string(optimum) + " --anneal 2,0.1 --burn-in 300 --steps 5 --chains 20");
      EXPECT_EQ(found["anneal"], "2,0.1");
      EXPECT_EQ(found["best"]["value"], optimum);
      EXPECT_EQ(found["best"]["ratio"], 1.0);
      EXPECT_LE(found["best"]["step"].get<int64_t>(), 305);
    }
    // As a file of states, best.pt has that value as its energy: it violates nothing.
    const Outcome energy =
        run_program("energy --weights graph.txt --states out/best.pt --out e.pt --model " + problem,
                    {.directory = dir_.path()});
    ASSERT_EQ(energy.exit_code, 0) << energy.err;
    EXPECT_EQ(read_named_tensors(dir_ / "e.pt")[0].second.item<float>(), -optimum);
  }
}

TEST_F(GraphSample, SavedEnergiesOfAnAnnealedRunAreTheModels) {
  summary("--model maxcut --sampler pafs --anneal 2,0.5 --burn-in 5 --steps 4 --chains 3");
  const NamedTensors draws = read_named_tensors(dir_ / "out" / "samples.pt");
  write_pt(dir_ / "states.pt", PtValue{draws[0].second.reshape({12, 10})});
  const Outcome energy =
      run_program("energy --model maxcut --weights graph.txt --states states.pt --out e.pt",
                  {.directory = dir_.path()});
  ASSERT_EQ(energy.exit_code, 0) << energy.err;
  EXPECT_TRUE(
      torch::equal(read_named_tensors(dir_ / "e.pt")[0].second, draws[1].second.reshape({12})));
}

TEST_F(GraphSample, TheFileMayNameTheOptimum) {
  write_file(dir_ / "graph.txt", "% optimum 24\n" + petersen());
  const std::string command = "--model maxcut --sampler gwg --steps 200 --seed 1";
  EXPECT_EQ(summary(command)["best"]["optimum"], 24.0);
  EXPECT_EQ(summary(command)["best"]["ratio"], 0.5);
  EXPECT_EQ(summary(command + " --optimum 16")["best"]["ratio"], 0.75);
  const Outcome text = sample(command + " --overwrite --out out");
  EXPECT_NE(text.out.find("best solution 12 of the optimum 24, a ratio of 0.5"), std::string::npos)
      << text.out;
}

TEST_F(GraphSample, ABestAboveTheOptimumIsAWarning) {
  const std::string run =
      "sample --weights graph.txt --model maxcut --sampler gibbs --scan chromatic --steps 50 "
      "--seed 1 --overwrite --out out --optimum ";
  const Launch here{.directory = dir_.path()};
  const Outcome wrong = run_program(run + "9", here);
  EXPECT_EQ(wrong.exit_code, 0);
  EXPECT_NE(wrong.err.find("the best solution, 12, is above the given optimum, 9"),
            std::string::npos)
      << wrong.err;
  EXPECT_EQ(run_program(run + "12", here).err.find("above the given optimum"), std::string::npos);
}

TEST_F(GraphSample, TheSummarySaysHowTheTextWasRead) {
  write_file(dir_ / "graph.txt", "5 4\n1 2\n2 3\n3 2\n4 1\n");
  const std::string command = "--model maxcut --sampler gwg --steps 2";
  const Json graph = summary(command)["graph"];
  EXPECT_EQ(graph, Json::parse(R"({"vertices": 5, "edges": 3, "format": "G-set", "header": "n m",
                                   "first_vertex": 1, "isolated_vertices": 1,
                                   "repeated_edges": 1})"));
  const Outcome text = sample(command + " --overwrite --out out");
  EXPECT_NE(
      text.out.find("graph: 5 vertices (1 isolated) and 3 edges; the G-set file was read with the "
                    "'n m' header and with 1 as its first vertex; 1 repeated edges count once"),
      std::string::npos)
      << text.out;
}

// During burn-in there are no draws, but the best solution is kept.
TEST_F(GraphSample, AnInterruptedAnnealingSaysWhatItKeeps) {
  for (const bool draws : {false, true}) {
    std::filesystem::remove_all(dir_ / "out");
    const std::string lengths =
        draws ? "--burn-in 20 --steps 100000000 --thin 1000000" : "--burn-in 100000000 --steps 20";
    Program program(
        words("sample --weights graph.txt --model maxcut --sampler gibbs --no-samples "
              "--scan chromatic --threads 1 --quiet --overwrite --out out --anneal 2,0.1 " +
              lengths),
        {.directory = dir_.path()});
    ASSERT_TRUE(program.reaches([&] { return std::filesystem::exists(dir_ / "out/config.toml"); }));
    usleep(300000);
    program.signal(SIGINT);
    const Outcome outcome = program.wait();
    EXPECT_EQ(outcome.exit_code, 130);
    EXPECT_EQ(outcome.err.find("draws are in"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("the best solution of burn-in and of these steps, 12, is in "),
              std::string::npos)
        << outcome.err;
    EXPECT_TRUE(std::filesystem::exists(dir_ / "out/best.pt"));
  }
}

TEST_F(GraphSample, SavedEnergiesOfLargeWeightsAreWhole) {
  write_file(dir_ / "graph.txt", "1 2 16777217\n");
  summary("--model maxcut --sampler gibbs --steps 50");
  const torch::Tensor energy = read_named_tensors(dir_ / "out" / "samples.pt")[1].second;
  EXPECT_EQ(energy.min().item<double>(), -16777217);
}

TEST_F(GraphSample, StatesThatViolateConstraintsAreNoSolutions) {
  write_pt(dir_ / "all.pt", PtValue{torch::ones({2, 10}, torch::kUInt8)});
  const std::string stuck =
      "--model mis --penalty 0.01 --init all.pt --sampler gibbs --anneal 0.001,0.001 --burn-in 3 "
      "--steps 3";
  const Json none = summary(stuck);
  EXPECT_TRUE(none["best"]["value"].is_null());
  EXPECT_FALSE(std::filesystem::exists(dir_ / "out" / "best.pt"));
  const Outcome text = sample(stuck + " --overwrite --out out");
  EXPECT_NE(text.out.find("no solution"), std::string::npos) << text.out;
}

// The least energy is −5, at x = (1, 0, 1), with the offset.
TEST_F(GraphSample, QuadraticFunctionsReportTheirOwnEnergy) {
  write_file(dir_ / "graph.txt",
             "# offset 1\n# optimum -5\n0 0 -4\n1 1 -1\n2 2 -2\n0 1 3\n1 2 1\n");
  const Json found = summary("--model qubo --sampler gibbs --steps 200 --seed 1");
  EXPECT_EQ(found["best"]["value"], -5.0);
  EXPECT_EQ(found["best"]["ratio"], 1.0);
  EXPECT_EQ(found["quadratic"]["variables"], 3);
  EXPECT_EQ(found["quadratic"]["pairs"], 2);
  EXPECT_EQ(found["quadratic"]["offset"], 1.0);
  const NamedTensors draws = read_named_tensors(dir_ / "out" / "samples.pt");
  EXPECT_EQ(draws[1].second.min().item<double>(), -5);
  const std::string command = "--model qubo --sampler gibbs --steps 200 --overwrite --out out";
  const Outcome text = sample(command);
  EXPECT_NE(text.out.find("best solution -5 of the optimum -5"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("3 binary variables (0 isolated), 3 linear terms, 2 pairs"),
            std::string::npos)
      << text.out;
  const Outcome wrong =
      run_program("sample --weights graph.txt --optimum=-4 " + command, {.directory = dir_.path()});
  EXPECT_NE(wrong.err.find("the best solution, -5, is below the given optimum, -4"),
            std::string::npos)
      << wrong.err;
  write_file(dir_ / "graph.txt", "# vartype=SPIN\n0 1 -1\n1 2 2\n0 0 .5\n");
  EXPECT_EQ(summary("--model ising --sampler gibbs --steps 200")["best"]["value"], -3.5);
}

TEST_F(GraphSample, InspectSaysHowATextIsRead) {
  const auto inspected = [&](const std::string& name, const std::string& text) {
    write_file(dir_ / name, text);
    const Outcome outcome = run_program("inspect --json " + name, {.directory = dir_.path()});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out);
  };
  const Json graph = inspected("g.mtx",
                               "%%MatrixMarket matrix coordinate pattern symmetric\n"
                               "5 5 3\n2 1\n3 2\n4 1\n");
  EXPECT_EQ(graph["kind"], "graph");
  EXPECT_EQ(graph["format"], "MatrixMarket");
  EXPECT_EQ(graph["vertices"], 5);
  EXPECT_EQ(graph["isolated_vertices"], 1);
  const Json function = inspected("q.sparse", "3 2\n1 1 2\n1 3 -1\n");
  EXPECT_EQ(function["kind"], "quadratic function");
  EXPECT_EQ(function["isolated_variables"], 1);
  const Json network = inspected("n.uai", "MARKOV 2 2 3 1 2 0 1 6 1 2 3 4 5 6 1 1 2");
  EXPECT_EQ(network["kind"], "network");
  EXPECT_EQ(network["most_values"], 3);
  EXPECT_EQ(network["observed"], 1);
  EXPECT_EQ(inspected("edges.csv", "0,1\n1,2\n2,0\n")["kind"], "graph");
  EXPECT_EQ(inspected("edges.txt", "from,to\n0,1\n1,2\n")["kind"], "graph");
  EXPECT_EQ(inspected("terms.txt", "0 0 1\n0 1 -2\n")["kind"], "quadratic function");
  for (const char* text :
       {"0,1,1,0\n1,1,0,0\n", "x;y;z;w\n0;1;1;0\n1;1;0;0\n", "0 1 1 0\r\n1 1 0 0\r\n"}) {
    const Json data = inspected("bits.csv", text);
    EXPECT_EQ(data["kind"], "CSV text") << text;
    EXPECT_EQ(data["shape"], Json::array({2, 4})) << text;
  }
  const Json points = inspected("points.csv", "x,y\n0.5,-3\n2,1\n");
  EXPECT_EQ(points["shape"], Json::array({2, 2}));
  EXPECT_EQ(points["min"], -3);
  write_file(dir_ / "words.csv", "0,1,1,0\n1,x,0,0\n");
  const Outcome words = run_program("inspect words.csv", {.directory = dir_.path()});
  EXPECT_EQ(words.exit_code, 2);
  EXPECT_NE(words.err.find("words.csv: line "), std::string::npos) << words.err;
  write_file(dir_ / "bad.txt", "1 2\n2 2\n");
  const Outcome bad = run_program("inspect bad.txt", {.directory = dir_.path()});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_NE(bad.err.find("bad.txt: line 2: the edge joins vertex 2"), std::string::npos) << bad.err;
}

TEST_F(GraphSample, BadInputIsOneLine) {
  write_ising(dir_ / "ising.pt");
  write_permutation(dir_ / "permutation.pt");
  write_file(dir_ / "loop.txt", "1 2\n2 2\n");
  write_file(dir_ / "spins.txt", "# vartype=SPIN\n0 1 1\n");
  const std::string mis = "sample --model mis --sampler gwg --steps 2 --out out --weights ";
  const std::string ising =
      "sample --model ising --weights ising.pt --sampler gwg --steps 2 --out "
      "out ";
  const std::map<std::string, std::string> wrong = {
      {mis + "loop.txt", "loop.txt: line 2: the edge joins vertex 2 with itself"},
      {mis + "ising.pt", "not a graph"},
      {"sample --model qubo --sampler gwg --steps 2 --out out --weights spins.txt",
       "spins.txt: the variables of the file are spins; use the model ising"},
      {mis + "nowhere.txt", "nowhere.txt"},
      {mis + "graph.txt --penalty 0", "--penalty is 0"},
      {mis + "graph.txt --anneal 2,0.1", "--burn-in is 0; at least 2"},
      {mis + "graph.txt --burn-in 9 --anneal 2", "--anneal is '2'; two temperatures"},
      {mis + "graph.txt --burn-in 9 --anneal 2,0", "--anneal is '2,0'; two temperatures"},
      {mis + "graph.txt --burn-in 9 --anneal 2,nan", "two temperatures"},
      {ising + "--penalty 2", "--penalty is 2, but model ising has no constraints"},
      {ising + "--optimum 2", "--optimum is given, but model ising"},
      {"sample --model permutation --weights permutation.pt --sampler lb --steps 2 --burn-in 9 "
       "--anneal 2,1 --out out",
       "--anneal cools binary and categorical sites"},
  };
  for (const auto& [command, message] : wrong) {
    const Outcome outcome = run_program(command, {.directory = dir_.path()});
    EXPECT_EQ(outcome.exit_code, 2) << command;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(line_count(outcome.err), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(dir_ / "out")) << command;
  }
}

}  // namespace
}  // namespace isinglass::graph_problem_test
