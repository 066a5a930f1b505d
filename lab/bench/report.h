// What a bench says of its measurements: as JSON, as a table, and beside an earlier
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

// The machine, the settings and the command that repeats the run, and for every stage the
// milliseconds of a call (median, least, most) with its rate beside the best of the measured
// bounds.
nlohmann::ordered_json bench_json(const BenchSpec& spec, const nlohmann::ordered_json& settings,
                                  const std::string& command, std::vector<Measurement> measurements,
                                  torch::Device device);

// bench.json of another run. Throws Error naming the file if it is none.
nlohmann::ordered_json read_bench(const std::filesystem::path& file);

// For every stage that both have, the ratio of the medians, now / then, and whether the spreads
// overlap; with the settings in which the two differ.
nlohmann::ordered_json compare_bench(const nlohmann::ordered_json& now,
                                     const nlohmann::ordered_json& then);

// The same for people; a comparison is shown where the result has one.
std::string bench_text(const nlohmann::ordered_json& result);

}  // namespace isinglass
