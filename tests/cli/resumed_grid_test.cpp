// `isinglass ablate --resume`: a grid resumes where it was killed or interrupted, with more repeats
// or more time. Cells that another program or other files made are measured again.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/ablate_fixture.h"

namespace isinglass::resumed_grid_test {
namespace {

class ResumedGrid : public Ablate {};

// Compares the rows except for their times.
void expect_equal_rows(const Json& a, const Json& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i]["settings"], b[i]["settings"]);
    EXPECT_EQ(a[i]["repeat"], b[i]["repeat"]);
    for (const char* metric : {"ess_per_step", "rhat", "hops", "energy_evaluations"}) {
      EXPECT_EQ(a[i]["metrics"].value(metric, Json()), b[i]["metrics"].value(metric, Json()))
          << metric << " of row " << i;  // a cell that failed has none
    }
  }
}

std::map<std::string, std::string> cells_of(const std::filesystem::path& directory) {
  std::map<std::string, std::string> cells;
  for (const auto& file : std::filesystem::directory_iterator(directory / "cells")) {
    cells[file.path().filename().string()] = file_bytes(file.path());
  }
  return cells;
}

TEST_F(ResumedGrid, AResumedGridGetsMoreRepeatsAndKeepsItsCells) {
  ASSERT_EQ(run(grid(), "out").exit_code, 0);
  ASSERT_EQ(run(grid() + " --repeats 3", "whole").exit_code, 0);
  const auto before = cells_of(folder / "out");
  const std::string resume = "ablate --quiet --resume " + (folder / "out").string();
  ASSERT_EQ(run_program(resume + " --repeats 3").exit_code, 0);
  const auto after = cells_of(folder / "out");
  EXPECT_EQ(before.size(), 12u);
  EXPECT_EQ(after.size(), 18u);
  for (const auto& [name, bytes] : before) EXPECT_TRUE(after.at(name) == bytes) << name;
  const Json whole = json_file(folder / "whole/results.json");
  EXPECT_EQ(whole["repeats"], 3);
  expect_equal_rows(json_file(folder / "out/results.json")["rows"], whole["rows"]);

  ASSERT_EQ(run_program(resume).exit_code, 0);  // that many, from now on
  EXPECT_EQ(json_file(folder / "out/results.json")["rows"].size(), 18u);
}

TEST_F(ResumedGrid, AResumedGridGetsMoreTimeForWhatHasNotConverged) {
  write_text(folder / "grid.toml", kSlowAndFast);
  ASSERT_EQ(run(grid() + " --until-converged 20", "whole").exit_code, 0);
  ASSERT_EQ(run(grid(), "out").exit_code, 0);
  const auto before = cells_of(folder / "out");
  const std::string resume = "ablate --resume " + (folder / "out").string();
  const Outcome more = run_program(resume + " --until-converged 20");
  ASSERT_EQ(more.exit_code, 0) << more.err;
  EXPECT_NE(more.err.find("1 cells are run again because they had not converged"),
            std::string::npos)
      << more.err;
  const auto after = cells_of(folder / "out");
  EXPECT_FALSE(after.at("00001.json") == before.at("00001.json"));
  EXPECT_TRUE(after.at("00002.json") == before.at("00002.json"));
  expect_equal_rows(json_file(folder / "out/results.json")["rows"],
                    json_file(folder / "whole/results.json")["rows"]);
}

TEST_F(ResumedGrid, AKilledGridGoesOnAtTheNextCell) {
  std::string slow = kGrid;
  slow.replace(slow.find("steps = 400"), 11, "steps = 20000");
  write_text(folder / "grid.toml", slow);
  const auto third = folder / "out/cells/00003.json";
  {
    Program killed(
        words(fmt::format("ablate --quiet --out {} {}", (folder / "out").string(), grid())));
    ASSERT_TRUE(killed.reaches([&] { return std::filesystem::exists(third); }));
    killed.signal(SIGKILL);
    killed.wait();
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "out/results.json"));
  const std::string before = file_bytes(third);
  const std::string resume = "ablate --quiet --resume " + (folder / "out").string();
  const Outcome done = run_program(resume);
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(file_bytes(third), before);  // its seconds would differ
  EXPECT_EQ(json_file(folder / "out/results.json")["rows"].size(), 12u);

  write_text(folder / "grid.toml", kGrid);  // other steps
  const Outcome changed = run_program(resume);
  EXPECT_EQ(changed.exit_code, 2);
  EXPECT_NE(changed.err.find("the grid has changed since"), std::string::npos) << changed.err;
  EXPECT_EQ(file_bytes(third), before);
}

TEST_F(ResumedGrid, AnInterruptedGridKeepsItsCells) {
  std::string slow = kGrid;
  slow.replace(slow.find("steps = 400"), 11, "steps = 20000");
  write_text(folder / "grid.toml", slow);
  Program running(
      words(fmt::format("ablate --quiet --out {} {}", (folder / "out").string(), grid())));
  ASSERT_TRUE(
      running.reaches([&] { return std::filesystem::exists(folder / "out/cells/00001.json"); }));
  running.signal(SIGINT);
  const Outcome stopped = running.wait();
  EXPECT_EQ(stopped.exit_code, 130);
  EXPECT_NE(stopped.err.find("--resume"), std::string::npos);
  EXPECT_EQ(line_count(stopped.err), 1) << stopped.err;
  EXPECT_TRUE(std::filesystem::exists(folder / "out/cells/00001.json"));
}

// Cells are never mixed: cells of another program or of other files run again.
TEST_F(ResumedGrid, FinishedCellsOfAnotherProgramOrModelGoAgain) {
  ASSERT_EQ(run(grid()).exit_code, 0);
  const auto cell = [&](int index) { return folder / fmt::format("out/cells/{:05}.json", index); };
  const auto resumed = [&](const std::string& said) {
    std::vector<std::string> before;
    for (int i = 1; i <= 12; ++i) before.push_back(file_bytes(cell(i)));
    const Outcome done = run_program("ablate --resume " + (folder / "out").string());
    EXPECT_EQ(done.exit_code, 0) << done.err;
    EXPECT_NE(done.err.find(said), std::string::npos) << done.err;
    std::vector<int> changed;
    for (int i = 1; i <= 12; ++i) {
      if (file_bytes(cell(i)) != before[i - 1]) changed.push_back(i);
    }
    return changed;
  };
  EXPECT_EQ(resumed(""), std::vector<int>());

  Json other = json_file(cell(2));
  other["identity"]["program"] = "1f2e3d";
  write_text(cell(2), other.dump());
  EXPECT_EQ(resumed("1 cells are run again because the program was 1f2e3d and is "),
            std::vector<int>({2}));
  other = json_file(cell(3));  // the other program may have numbered its cells otherwise
  other["identity"]["program"] = "1f2e3d";
  write_text(cell(2), other.dump());
  EXPECT_EQ(resumed("1 cells are run again because the program was 1f2e3d and is "),
            std::vector<int>({2}));
  other = json_file(cell(5));
  other.erase("identity");
  write_text(cell(5), other.dump());
  EXPECT_EQ(resumed("1 cells are run again because they do not identify their program and data"),
            std::vector<int>({5}));
  other = json_file(cell(4));
  other["identity"]["device"] = "cuda";
  write_text(cell(4), other.dump());
  EXPECT_EQ(resumed("1 cells are run again because they were computed on cuda"),
            std::vector<int>({4}));
  other = json_file(cell(6));
  other["identity"]["measures"]["mean"] = 0.5;
  write_text(cell(6), other.dump());
  EXPECT_EQ(resumed("1 cells are run again because the grid measures something else"),
            std::vector<int>({6}));
  auto failed = nlohmann::ordered_json::parse(file_bytes(cell(6)));
  failed["status"] = "failed";
  failed["error"] = "out of memory";
  failed["metrics"] = Json::object();
  write_text(cell(6), failed.dump());
  EXPECT_EQ(resumed(" cells are run again because they had failed"), std::vector<int>({6}));
  EXPECT_EQ(json_file(cell(6))["status"], "done");
  // The cells of the chain run again, with the second repeats after all first ones; those of the
  // other model are kept.
  write_ising(folder / "ising.pt", 0.31);
  EXPECT_EQ(resumed("6 cells are run again because the contents of " +
                    (folder / "ising.pt").string() + " have changed"),
            std::vector<int>({1, 2, 3, 7, 8, 9}));
}

}  // namespace
}  // namespace isinglass::resumed_grid_test
