// A small grid of `isinglass ablate` in a folder of its own.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/inputs.h"
#include "tests/support/program.h"

namespace isinglass {

using Json = nlohmann::json;

inline void write_text(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file) << text;
}

inline Json json_file(const std::filesystem::path& file) {
  return Json::parse(file_bytes(file));
}

inline const std::string kGrid = R"(
title = "A chain of spins"
repeats = 2
[common]
chains = 8
burn-in = 50
steps = 400
[[models]]
label = "chain"
model = "ising"
weights = "ising.pt"
[[models]]
instance = "parity:u=2,sites=9"
[[samplers]]
sampler = "gwg"
[[samplers]]
sampler = "pas"
radius = [1, 2]
[[claims]]
text = "longer paths move further"
rule = "beats"
metric = "hops"
who = ["pas radius=2"]
than = ["gwg"]
models = ["chain"]
[[claims]]
text = "single flips move further"
rule = "beats"
metric = "hops"
who = ["gwg"]
than = ["pas radius=2"]
models = ["chain"]
)";

// Chains of the first sampler are far from converged after these steps, and those of the second one
// are not.
inline const std::string kSlowAndFast = R"(
[common]
chains = 10
burn-in = 10
steps = 20
[[models]]
instance = "bernoulli:sites=40,sigma=1"
[[samplers]]
sampler = "rwm"
[[samplers]]
sampler = "lbj"
tau = 3
)";

class Ablate : public testing::Test {
 protected:
  Ablate() {
    write_ising(folder / "ising.pt");
    write_text(folder / "grid.toml", kGrid);
  }
  Outcome run(const std::string& flags, const std::string& out = "out") const {
    return run_program(fmt::format("ablate --quiet --out {} {}", (folder / out).string(), flags));
  }
  std::string grid() const { return "--grid " + (folder / "grid.toml").string(); }

  TemporaryDirectory folder;
};

}  // namespace isinglass
