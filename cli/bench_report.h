// What `isinglass bench` says of its measurements: as JSON, as a table, and beside an earlier
// result.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/bench/measurement.h"
#include "cli/options/options.h"

namespace isinglass {

// The machine, the command that repeats the run, and for every stage the milliseconds of a call
// (median, least, most) with its rate beside the best of the measured bounds.
nlohmann::ordered_json bench_json(const Options& options, const std::vector<Measurement>& stages,
                                  const std::vector<Measurement>& bounds, torch::Device device);

// bench.json of another run. Throws Error naming the file if it is none.
nlohmann::ordered_json read_bench(const std::filesystem::path& file);

// For every stage that both have, the ratio of the medians, now / then, and whether the spreads
// overlap; with the settings in which the two differ.
nlohmann::ordered_json compare_bench(const nlohmann::ordered_json& now,
                                     const nlohmann::ordered_json& then);

// The same for people; a comparison is shown where the result has one.
std::string bench_text(const nlohmann::ordered_json& result);

}  // namespace isinglass
