// Writes the measurements of a bench as JSON and as a table, and compares them with an earlier
// result.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/torch.h"
#include "lab/bench/measurement.h"
#include "lab/spec/spec.h"

namespace isinglass {

// Returns the machine, the settings and the command that repeats the run, and for every stage the
// milliseconds of a call (median, least, most) and its rate as a share of the best measured bound.
nlohmann::ordered_json bench_json(const BenchSpec& spec, const nlohmann::ordered_json& settings,
                                  const std::string& command, std::vector<Measurement> measurements,
                                  torch::Device device);

// Reads bench.json of another run. Throws Error naming the file if it is not a bench result.
nlohmann::ordered_json read_bench(const std::filesystem::path& file);

// Returns, for every stage that both results have, the ratio of the medians (now / then) and
// whether the spreads overlap, together with the settings in which the results differ.
nlohmann::ordered_json compare_bench(const nlohmann::ordered_json& now,
                                     const nlohmann::ordered_json& then);

// Returns the result as a table for a terminal. A comparison is shown if the result has one.
std::string bench_text(const nlohmann::ordered_json& result);

}  // namespace isinglass
