// Files that a grid names: relative paths start at the grid's folder, wherever the program runs,
// and a grid that is resumed from another folder finds them again.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/inputs.h"
#include "tests/support/program.h"

namespace isinglass::grid_paths_test {
namespace {

using Json = nlohmann::json;

// Grids in grids/, the program in elsewhere/, the results in out/.
class GridPaths : public testing::Test {
 protected:
  GridPaths() {
    std::filesystem::create_directories(folder / "grids");
    std::filesystem::create_directories(folder / "elsewhere");
  }
  std::filesystem::path beside(const std::string& name) const { return folder / "grids" / name; }

  Outcome run(const std::string& grid, const std::string& flags = "") const {
    std::ofstream(beside("grid.toml")) << grid;
    return run_program(
        fmt::format("ablate --quiet --grid ../grids/grid.toml --cache {} --out ../out {}",
                    (folder / "cache").string(), flags),
        {.directory = folder / "elsewhere"});
  }

  void expect_done(const Outcome& outcome, size_t cells) const {
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Json results = Json::parse(file_bytes(folder / "out/results.json"));
    ASSERT_EQ(results["rows"].size(), cells);
    for (const Json& row : results["rows"]) EXPECT_EQ(row["status"], "done") << row;
  }

  TemporaryDirectory folder;
};

const std::string kGrid = R"(
[common]
chains = 4
steps = 20
[[models]]
model = "ising"
weights = "ising.pt"
gradient-model = "ising=near.pt"
init = "start.pt"
[[models]]
[models.train]
model = "rbm"
dataset = "bars.pt"
hidden = 4
iters = 2
steps-per-iter = 1
buffer = 20
batch = 10
[[samplers]]
sampler = "gwg"
)";

TEST_F(GridPaths, StartAtTheGridsFolder) {
  write_ising(beside("ising.pt"));
  write_ising(beside("near.pt"), 0.1);
  write_pt(beside("start.pt"), PtValue{all_states().narrow(0, 0, 4)});
  write_pt(beside("bars.pt"), PtValue{bars()});
  expect_done(run(kGrid, "--data-dir data"), 2);

  // When run from another folder, the second cell runs again, and the first is found.
  const std::string first = file_bytes(folder / "out/cells/00001.json");
  std::filesystem::remove(folder / "out/cells/00002.json");
  const Outcome resumed = run_program("ablate --quiet --resume out", {.directory = folder.path()});
  expect_done(resumed, 2);
  EXPECT_EQ(file_bytes(folder / "out/cells/00001.json"), first);
}

TEST_F(GridPaths, OfFactorsStartThereToo) {
  for (const char* name : {"one.pt", "two.pt"}) {
    write_named_tensors(beside(name),
                        {{"mean", torch::zeros({3})}, {"precision", torch::ones({3})}});
  }
  expect_done(run(R"(
[common]
chains = 4
steps = 20
[[models]]
label = "both"
model = "product"
factors = "gaussian=one.pt,gaussian=two.pt"
[[samplers]]
sampler = "mala"
)"),
              1);
}

// A data set named on the command line is relative to the working directory.
TEST_F(GridPaths, OfTheCommandLineStartAtTheWorkingDirectory) {
  write_ising(beside("ising.pt"));
  write_ising(beside("near.pt"), 0.1);
  write_pt(beside("start.pt"), PtValue{all_states().narrow(0, 0, 4)});
  write_pt(folder / "elsewhere" / "own.pt", PtValue{bars()});
  expect_done(run(kGrid, "--dataset own.pt"), 2);
}

TEST_F(GridPaths, AMissingFileIsNamedInFull) {
  const Outcome refused = run(kGrid);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(line_count(refused.err), 1) << refused.err;
  EXPECT_NE(refused.err.find((folder / "grids").string()), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("ising.pt is not a file"), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

}  // namespace
}  // namespace isinglass::grid_paths_test
