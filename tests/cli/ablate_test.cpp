// `isinglass ablate`: cells are runs of `isinglass sample`, and a failing cell stops no other.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/ablate_fixture.h"

namespace isinglass::ablate_test {
namespace {

TEST_F(Ablate, CellsAreRunsOfSample) {
  const Outcome done = run(grid() + " --seed 7 --repeats 3");
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const Json results = json_file(folder / "out/results.json");
  ASSERT_EQ(results["rows"].size(), 18u);
  EXPECT_EQ(results["failed"], 3);  // gwg needs gradients; parity has none
  EXPECT_EQ(results["claims"][0]["verdict"], "supported") << results["claims"];
  EXPECT_EQ(results["claims"][1]["verdict"], "not supported") << results["claims"];
  const Json failed = results["rows"][9];
  EXPECT_EQ(failed["status"], "failed");
  EXPECT_NE(failed["error"].get<std::string>().find("gwg does not fit model parity"),
            std::string::npos);
  const Json row = results["rows"][4];
  EXPECT_EQ(row["model"], "chain");
  EXPECT_EQ(row["sampler"], "pas");
  EXPECT_EQ(row["settings"]["radius"], "1");
  EXPECT_EQ(row["repeat"], 1);

  const Outcome sample = run_program(
      fmt::format("sample --model ising --weights {0}/ising.pt --sampler pas --radius 1 --chains 8 "
                  "--burn-in 50 --steps 400 --seed 8 --quiet --json --out {0}/one",
                  folder.path().string()));
  ASSERT_EQ(sample.exit_code, 0) << sample.err;
  const Json summary = Json::parse(sample.out);
  EXPECT_EQ(row["metrics"]["ess_per_step"], summary["ess"]["per_step"]);
  EXPECT_EQ(row["metrics"]["rhat"], summary["rhats"]["energy"]);  // grids measure one statistic
  EXPECT_DOUBLE_EQ(row["metrics"]["acceptance"], summary["acceptance"]);
  EXPECT_DOUBLE_EQ(row["metrics"]["hops"], summary["hops"]);

  const std::string csv = file_bytes(folder / "out/results.csv");
  EXPECT_EQ(line_count(csv), 19);
  EXPECT_TRUE(csv.starts_with("model,sampler,radius,repeat,status,error,ess_per_step,")) << csv;
}

TEST_F(Ablate, SaysWhyAClaimIsUndecided) {
  const Outcome done = run_program("ablate --out " + (folder / "out").string() + " " + grid());
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_NE(done.err.find("warning: --repeats is 2, and 3 are needed, so that the claim 'longer "
                          "paths move further' will be undecided"),
            std::string::npos)
      << done.err;
  EXPECT_NE(done.out.find("undecided: longer paths move further (too few repeats: 2 judged pas "
                          "radius=2, and 3 are needed)"),
            std::string::npos)
      << done.out;
}

// Cells may have different lengths, each long enough; a cell that needs no more steps is kept.
TEST_F(Ablate, RunsACellUntilItHasConverged) {
  write_text(folder / "grid.toml", kSlowAndFast);
  const Outcome short_run = run(grid(), "short");
  ASSERT_EQ(short_run.exit_code, 0);
  EXPECT_NE(short_run.out.find("the chains of 1 of 2 cells have not converged"), std::string::npos)
      << short_run.out;
  ASSERT_EQ(run(grid() + " --until-converged 20", "long").exit_code, 0);
  const Json before = json_file(folder / "short/results.json")["rows"];
  const Json after = json_file(folder / "long/results.json")["rows"];
  EXPECT_GT(before[0]["metrics"]["rhat"], 1.2);
  EXPECT_LE(after[0]["metrics"]["rhat"], 1.05);
  const auto calls = [](const Json& row) { return row["metrics"]["energy_evaluations"]; };
  EXPECT_GE(calls(after[0]), 4 * calls(before[0]).get<int64_t>());
  EXPECT_LE(before[1]["metrics"]["rhat"], 1.05);
  EXPECT_EQ(calls(after[1]), calls(before[1]));
}

// A grid with an RBM that is trained on bars.pt and sampled by gwg.
std::string grid_on_bars(int repeats, int steps, int iterations, int steps_per_iteration) {
  return fmt::format(R"(
repeats = {}
[common]
chains = 4
steps = {}
[[models]]
[models.train]
model = "rbm"
dataset = "bars.pt"
hidden = 4
iters = {}
steps-per-iter = {}
buffer = 20
batch = 10
[[samplers]]
sampler = "gwg"
)",
                     repeats, steps, iterations, steps_per_iteration);
}

// The first cell trains the model, and has as much time for sampling as the others.
TEST_F(Ablate, TrainingIsNoTimeOfTheCellThatWaitsForIt) {
  write_pt(folder / "bars.pt", PtValue{bars()});
  write_text(folder / "grid.toml", grid_on_bars(2, 8, 1000, 20));
  const std::string cache = " --cache " + (folder / "cache").string();
  ASSERT_EQ(run(grid() + cache + " --until-converged 0.5", "out").exit_code, 0);
  const Json rows = json_file(folder / "out/results.json")["rows"];
  ASSERT_EQ(rows.size(), 2);
  for (const Json& row : rows) EXPECT_LE(row["metrics"]["rhat"], 1.05);
}

TEST_F(Ablate, TrainsWhatTheGridAsksForOnce) {
  write_text(folder / "grid.toml", R"(
reference = "block-gibbs"
[common]
chains = 6
steps = 30
[[models]]
[models.train]
model = "rbm"
dataset = "strokes"
hidden = 4
iters = 3
steps-per-iter = 1
buffer = 20
batch = 10
[[samplers]]
sampler = "gwg"
)");
  const std::string cache = " --cache " + (folder / "cache").string();
  ASSERT_EQ(run(grid() + cache, "first").exit_code, 0);
  const Json row = json_file(folder / "first/results.json")["rows"][0];
  ASSERT_EQ(row["status"], "done") << row;
  EXPECT_TRUE(row["metrics"]["mmd"].is_number());
  EXPECT_TRUE(row["metrics"]["mmd_se"].is_number());
  const Json in_time = json_file(folder / "first/cells/00001.json")["mmd_trace"];
  ASSERT_EQ(in_time["seconds"].size(), 5u);  // after 1, 2, 4, 8 and 16 of 30 steps
  ASSERT_EQ(in_time["mmd"].size(), 5u);
  EXPECT_NE(in_time["mmd"][0].get<double>(), in_time["mmd"][4].get<double>());
  EXPECT_GT(in_time["seconds"][4].get<double>(), in_time["seconds"][0].get<double>());
  EXPECT_NE(file_bytes(folder / "first/report.html").find(" to ground truth against time"),
            std::string::npos);
  const auto kept = *std::filesystem::directory_iterator(folder / "cache");
  const auto made = std::filesystem::last_write_time(kept.path() / "ema.pt");
  ASSERT_EQ(run(grid() + cache, "second").exit_code, 0);
  EXPECT_EQ(std::filesystem::last_write_time(kept.path() / "ema.pt"), made);
  // --weights replaces training.
  ASSERT_EQ(run(grid() + " --weights " + (kept.path() / "ema.pt").string(), "third").exit_code, 0);
  EXPECT_EQ(json_file(folder / "third/results.json")["rows"][0]["metrics"]["mmd"],
            row["metrics"]["mmd"]);
}

TEST_F(Ablate, TrainedModelsAreOfTheirData) {
  write_text(folder / "grid.toml", grid_on_bars(1, 10, 3, 1));
  const std::string cache = " --cache " + (folder / "cache").string();
  const auto parameters = [&](const std::string& out) {
    const Outcome done = run(grid() + cache, out);
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return json_file(folder / out / "cells/00001.json")["summary"]["parameters_sha256"]
        .get<std::string>();
  };
  const auto kept = [&] {
    const auto entries = std::filesystem::directory_iterator(folder / "cache");
    return std::distance(begin(entries), end(entries));
  };
  write_pt(folder / "bars.pt", PtValue{bars()});
  const std::string first = parameters("first");
  EXPECT_EQ(parameters("again"), first);
  EXPECT_EQ(kept(), 1);
  write_pt(folder / "bars.pt", PtValue{1 - bars()});
  EXPECT_NE(parameters("other"), first);
  EXPECT_EQ(kept(), 2);
  write_pt(folder / "bars.pt", PtValue{bars()});
  EXPECT_EQ(parameters("third"), first);
  EXPECT_EQ(kept(), 2);
}

// At the scale of `below` the entry itself is used; below it, its smaller target, which the results
// name.
TEST_F(Ablate, ASmallerTargetStandsForItsEntryAtASmallScale) {
  write_text(folder / "grid.toml", R"(
[common]
chains = 10
burn-in = 100
steps = 200
[[models]]
label = "nine"
instance = "parity:u=1,sites=9"
[models.small]
below = 0.5
label = "four"
instance = "parity:u=1,sites=4"
[[samplers]]
sampler = "gwg"
)");
  ASSERT_EQ(run(grid() + " --scale 0.5", "whole").exit_code, 0);
  const Json whole = json_file(folder / "whole/results.json");
  EXPECT_EQ(whole["rows"][0]["model"], "nine");
  EXPECT_EQ(whole["smaller"], Json::object());
  ASSERT_EQ(run(grid() + " --scale 0.4", "small").exit_code, 0);
  const Json small = json_file(folder / "small/results.json");
  EXPECT_EQ(small["rows"][0]["model"], "four");
  EXPECT_EQ(small["smaller"], (Json{{"four", "nine"}}));
  EXPECT_NE(file_bytes(folder / "small/report.html").find("four for nine"), std::string::npos);
}

// Chains get equal numbers of model calls, and the share of chains in the right modes is reported.
// Groups stay whole when the number of chains is scaled.
TEST_F(Ablate, ContinuousGridsCountModelCallsAndRightModes) {
  write_text(folder / "grid.toml", R"(
[common]
chains = 42
calls = 406
init = "instance"
[[models]]
label = "own"
instance = "misled-mixture"
[[models]]
label = "named"
instance = "misled-mixture"
[models.modes]
right = [[100, 100]]
wrong = [[0, 0]]
radius = 50
[[samplers]]
sampler = "mala"
step-size = 0.8
[[samplers]]
sampler = "fhl"
leapfrog = 4
step-size = 0.4
group = 4
)");
  ASSERT_EQ(run(grid() + " --scale 0.25").exit_code, 0);
  const Json rows = json_file(folder / "out/results.json")["rows"];
  ASSERT_EQ(rows.size(), 4u);
  for (const Json& row : rows) {
    ASSERT_EQ(row["status"], "done") << row;
    EXPECT_EQ(row["metrics"]["energy_evaluations"], row["sampler"] == "fhl" ? 200 : 203);
    EXPECT_EQ(row["metrics"]["right_share"] == 0, row["model"] == "named");
  }
  EXPECT_EQ(rows[2]["metrics"]["calls_to_right"], 203);  // never reached; the same for all
  EXPECT_EQ(rows[3]["metrics"]["calls_to_right"], 203);
  const Json fhl = json_file(folder / "out/cells/00002.json");
  EXPECT_EQ(fhl["summary"]["chains"], 20);
  EXPECT_EQ(fhl["trace"]["calls"][1], 8);
  EXPECT_EQ(fhl["mode_trace"]["share"].size(), 50u);
}

// Covers a product of two trained networks, a class of a trained classifier, pictures, and the
// replacement of a missing data set.
TEST_F(Ablate, GridsTrainAndDrawImages) {
  write_text(folder / "grid.toml", R"(
[common]
chains = 4
steps = 6
[[models]]
label = "product"
[[models.train]]
objective = "dsm"
dataset = "ring-points"
iters = 2
[[models.train]]
objective = "dsm"
dataset = "strip-points"
iters = 2
[[samplers]]
sampler = "hmc"
)");
  const std::string cache = " --cache " + (folder / "cache").string();
  ASSERT_EQ(run(grid() + cache, "product").exit_code, 0);
  const Json product = json_file(folder / "product/results.json")["rows"][0];
  ASSERT_EQ(product["status"], "done") << product;

  write_text(folder / "grid.toml", R"(
pictures = "28x28"
[common]
chains = 4
steps = 6
[[models]]
label = "seven"
class = 7
[models.train]
objective = "classify"
dataset = "strokes"
iters = 2
[[models]]
label = "Fashion"
instance = "image-modes:right=4"
dataset = "fashion-mnist"
[models.otherwise]
label = "an image"
instance = "image-gaussian"
dataset = "strokes"
[[samplers]]
sampler = "hmc"
)");
  const std::string none = " --data-dir " + folder.path().string();
  ASSERT_EQ(run(grid() + cache + none, "images").exit_code, 0);
  const Json rows = json_file(folder / "images/results.json")["rows"];
  const bool packaged = std::filesystem::exists("/usr/share/datasets/fashion-mnist");
  EXPECT_EQ(rows[1]["model"], packaged ? "Fashion" : "an image");
  for (const Json& row : rows) {
    ASSERT_EQ(row["status"], "done") << row;
    EXPECT_TRUE(row["metrics"]["least_energy"].is_number());
  }
  const std::string page = file_bytes(folder / "images/report.html");
  EXPECT_NE(page.find("data:image/png;base64,"), std::string::npos);
}

TEST_F(Ablate, APresetRunsAtASmallScale) {
  const Outcome done = run("--preset parity --scale 0.0001 --json");
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const Json results = Json::parse(done.out);
  EXPECT_EQ(results["failed"], 0);
  EXPECT_EQ(results["rows"].size(), 96u);
  EXPECT_EQ(results["scale"], 0.0001);
}

// The instance replaces a published file that is missing, and the labels say so.
TEST_F(Ablate, APublishedFileStandsForItsInstance) {
  write_text(folder / "grid.toml", R"(
[common]
chains = 4
steps = 20
[[models]]
label = "net"
published = "nets/two.uai"
instance = "bayesnet:variables=5"
[[samplers]]
sampler = "lb"
)");
  const std::string flags = grid() + " --data-dir " + folder.path().string();
  ASSERT_EQ(run(flags, "without").exit_code, 0);
  const Json generated = json_file(folder / "without/results.json")["rows"][0];
  EXPECT_EQ(generated["status"], "done") << generated;
  EXPECT_EQ(generated["model"], "net, generated");
  std::filesystem::create_directories(folder / "nets");
  write_text(folder / "nets/two.uai", "BAYES 2 2 2 2 1 0 2 0 1 2 0.3 0.7 4 0.9 0.1 0.2 0.8");
  ASSERT_EQ(run(flags, "with").exit_code, 0);
  const Json published = json_file(folder / "with/results.json")["rows"][0];
  EXPECT_EQ(published["status"], "done") << published;
  EXPECT_EQ(published["model"], "net, nets/two.uai");
  EXPECT_EQ(json_file(folder / "with/cells/00001.json")["summary"]["sites"], 2);
}

}  // namespace
}  // namespace isinglass::ablate_test
