// The file format, the metric, the rule and the section of docs/howto/extending.md, found by name.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "io/files.h"
#include "io/pt/pt_file.h"
#include "lab/grid/claims.h"
#include "lab/grid/run.h"
#include "lab/page/page.h"
#include "tests/reference/enumeration.h"
#include "tests/support/scratch.h"
#include "train/data/dataset.h"

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;

TEST(Psv, ALineIsAnImage) {
  const Scratch scratch;
  write_file(scratch / "x.psv", "0|0.2|1|1\n0|0|0|1\n");
  const Dataset data = load_dataset(scratch / "x.psv", "");
  EXPECT_EQ(data.height, 2);
  EXPECT_EQ(data.values, PixelValues::kGrey);
  const torch::Tensor sorted = std::get<0>(data.train.sum(1).sort());
  EXPECT_TRUE(sorted.equal(torch::tensor({255, 51 + 2 * 255}, torch::kInt64))) << sorted;
  write_file(scratch / "y.psv", "0|1\n0|1|1\n");
  EXPECT_ERROR(load_dataset(scratch / "y.psv", ""), "line 2: 3 numbers, unlike the lines before");
  write_file(scratch / "z.psv", "0|x\n");
  EXPECT_ERROR(load_dataset(scratch / "z.psv", ""), "line 1: 'x' is not a number");
}

// Returns the exact heat capacity of the clock model on a ring of 3 sites with 4 directions.
double exact_heat_capacity(const double (&coupling)[3]) {
  const reference::StateTable table(3, 4);
  double z = 0, first = 0, second = 0;
  for (const reference::State& x : table.states) {
    double u = 0;
    for (int i = 0; i < 3; ++i) {
      u -= coupling[i] * std::cos(M_PI / 2 * (x[i] - x[(i + 1) % 3]));
    }
    z += std::exp(-u), first += std::exp(-u) * u, second += std::exp(-u) * u * u;
  }
  return second / z - first * first / z / z;
}

TEST(HeatCapacity, OfAGridsCellIsThatOfEnumeration) {
  const Scratch scratch;
  write_named_tensors(scratch / "clock.pt", {{"coupling", torch::tensor({0.8, -0.5, 1.1})}});
  write_file(scratch / "grid.toml",
             "[common]\nchains = 100\nburn-in = 50\nsteps = 2000\n"
             "[[models]]\nmodel = \"clock\"\nweights = \"clock.pt\"\ncategories = 4\n"
             "[[samplers]]\nsampler = \"gibbs\"\n");
  const GridSpec spec{.file = scratch / "grid.toml"};
  const Json results = run_grid(spec, read_grid(spec), scratch / "run", {.device = torch::kCPU});
  const Json& metrics = results["rows"][0]["metrics"];
  ASSERT_TRUE(metrics.contains("heat_capacity")) << results["rows"][0].dump();
  const double error = metrics["heat_capacity_se"];
  EXPECT_LT(error, 0.02);
  EXPECT_NEAR(metrics["heat_capacity"].get<double>(), exact_heat_capacity({0.8, -0.5, 1.1}),
              5 * error);
}

TEST(Exceeds, NeedsMoreThanTheMargin) {
  const auto verdict = [](double who) {
    Json rows;
    for (int repeat = 0; repeat < 10; ++repeat) {  // together their error is 0.1
      for (const auto& [sampler, value] : {std::pair("a", who), std::pair("b", 2.0)}) {
        const Json metrics = {{"hops", value}, {"hops_se", 0.3162}, {"rhat", 1}};
        rows.push_back({{"model", "m"},
                        {"sampler", sampler},
                        {"settings", Json::object()},
                        {"repeat", repeat},
                        {"status", "done"},
                        {"chains", 100},
                        {"metrics", metrics}});
      }
    }
    const Json json = judge({"", "exceeds", "hops", "", {"a"}, {"b"}, {}}, rows_of(rows));
    EXPECT_EQ(rule_text(json), "exceeds: better by more than 10 %");
    return json["verdict"].get<std::string>();
  };
  EXPECT_EQ(verdict(2.6), "supported");      // 0.6 ± 0.30, above 0.2
  EXPECT_EQ(verdict(2.4), "undecided");      // 0.4 ± 0.30
  EXPECT_EQ(verdict(1.8), "not supported");  // −0.2 ± 0.30
}

TEST(Energies, ASectionOfPagesCountsAllDraws) {
  const Scratch scratch;
  write_named_tensors(scratch / "samples.pt",
                      {{"energy", torch::arange(60, torch::kFloat64).view({20, 3})}});
  report::Page page;
  for (const report::Section& section : report::sections()) {
    if (section.file == "samples.pt") section.add(page, scratch.folder());
  }
  ASSERT_EQ(page.parts.size(), 1);
  const Json& bars = page.parts[0]["pieces"][0]["charts"][0]["bars"];
  ASSERT_EQ(bars.size(), 20);
  for (const Json& bar : bars) EXPECT_EQ(bar["value"], 3) << bar.dump();
}

}  // namespace
}  // namespace isinglass
