// Writes the section of a page for a tempered run, from `tempering` of summary.json or ais.json and
// from rungs.pt.
#include <fmt/format.h>

#include <algorithm>

#include "io/pt/pt_file.h"
#include "lab/page/page.h"

namespace isinglass::report {
namespace {

constexpr int64_t kReplicas = 3;  // The histories of so many replicas are shown.

Json whole_numbers(int64_t first, int64_t count) {
  Json list = Json::array();
  for (int64_t i = 0; i < count; ++i) list.push_back(first + i);
  return list;
}

// Returns the rungs of a few replicas, spread over the ladder, as a function of the scan.
Json history_chart(const torch::Tensor& history) {
  const int64_t scans = history.size(0), rungs = history.size(1);
  Json series = Json::array();
  for (int64_t k = 0; k < std::min(kReplicas, rungs); ++k) {
    const int64_t replica = k * (rungs - 1) / std::max<int64_t>(1, std::min(kReplicas, rungs) - 1);
    const torch::Tensor own = history.select(1, replica).to(torch::kInt64).contiguous();
    const int64_t* of = own.data_ptr<int64_t>();
    series.push_back({{"label", fmt::format("replica {}", replica)},
                      {"x", whole_numbers(1, scans)},
                      {"y", std::vector<int64_t>(of, of + scans)}});
  }
  return line_chart("Rungs of the first ensemble's replicas in the last scans", {"scan"}, {"rung"},
                    series);
}

void add_tempering(Page& page, const std::filesystem::path& directory, const char* results) {
  const Json result = read_json(directory / results);
  if (!result.contains("tempering")) return;
  const Json& tempering = result["tempering"];
  Json list = Json::object();
  for (const auto& [key, value] : tempering.items()) {
    if (!value.is_structured()) list[key] = value;
  }
  const auto betas = tempering.value("betas", Json::array());
  const auto rungs = static_cast<int64_t>(betas.size());
  const auto chart = [&](const char* title, const char* y, const char* key, int64_t count) {
    return line_chart(title, {"rung"}, {y},
                      Json::array({{{"label", y},
                                    {"x", whole_numbers(0, count)},
                                    {"y", tempering.value(key, Json::array())}}}));
  };
  Json pictures = Json::array({chart("Schedule", "beta", "betas", rungs),
                               chart("Swaps between adjacent rungs", "share rejected", "rejection",
                                     std::max<int64_t>(rungs - 1, 0)),
                               chart("Steps of the sampler", "acceptance", "acceptance", rungs)});
  const auto file = directory / "rungs.pt";
  if (std::filesystem::exists(file)) {
    const torch::Tensor history = read_tensor(file);
    if (history.dim() == 2 && history.size(0) > 1) pictures.push_back(history_chart(history));
  }
  page.add(
      "Tempering",
      "A replica makes a round trip when it moves from rung 0 to the target and back. The "
      "table gives the rate of round trips per ensemble and scan, the rate that the rejections "
      "would allow if the sampler's steps decorrelated the energy, and the rate in the limit "
      "of many rungs.",
      {facts(list), charts("", pictures)});
}

}  // namespace

std::vector<Section> tempering_sections() {
  const auto of = [](const char* results) {
    return Section{results, [results](Page& page, const std::filesystem::path& directory) {
                     add_tempering(page, directory, results);
                   }};
  };
  return {of("summary.json"), of("ais.json")};
}

}  // namespace isinglass::report
