// Writes the section of a page for a run of sampling, from summary.json and samples.pt.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/diagnostics/autocorrelation.h"
#include "io/error.h"
#include "io/files.h"
#include "io/numbers.h"
#include "io/picture.h"
#include "io/pt/pt_file.h"
#include "lab/page/page.h"

namespace isinglass::report {
namespace {

namespace fs = std::filesystem;

// Returns a chart of the energies of a few chains, and one of the autocorrelation averaged over all
// chains.
Json sampling_charts(const torch::Tensor& energy, int64_t thin) {
  constexpr int64_t kChains = 5, kLags = 200;
  const std::vector<double> step = numbers(thin * torch::arange(1, energy.size(0) + 1));
  Json traces = Json::array(
      {thinned("mean of all chains", step, numbers(energy.to(torch::kFloat64).mean(1)))});
  // Chains far from each other, which inpaint different images.
  const int64_t shown = std::min(kChains, energy.size(1));
  for (int64_t n = 0; n < shown; ++n) {
    const int64_t chain = n * energy.size(1) / shown;
    traces.push_back(
        thinned(fmt::format("chain {}", chain), step, numbers(energy.select(1, chain))));
  }
  Json list = Json::array({line_chart("Energy", {"step"}, {"energy"}, traces)});
  if (energy.size(0) > 3) {
    const torch::Tensor rho = autocorrelation(energy).nanmean(1).slice(0, 0, kLags);
    const std::vector<double> lag = numbers(thin * torch::arange(rho.numel()));
    list.push_back(line_chart(
        "Autocorrelation of the energy, mean over chains", {"lag, steps"}, {"autocorrelation"},
        Json::array({{{"label", "energy"}, {"x", lag}, {"y", numbers(rho)}}})));
  }
  return list;
}

// Returns the last states of up to 36 chains as images; nothing if the sites are not discrete or do
// not fill a square.
Json state_pictures(const torch::Tensor& samples) {
  const torch::Tensor last = samples[samples.size(0) - 1].slice(0, 0, 36);
  const int64_t sites = last.size(1), side = std::llround(std::sqrt(static_cast<double>(sites)));
  const bool drawable = side * side == sites && sites > 16 && last.scalar_type() == torch::kUInt8;
  if (!drawable) return Json::array();
  const int64_t most = std::max<int64_t>(1, last.max().item<int64_t>());
  const int scale = static_cast<int>(255 / most);
  return Json::array(
      {picture("last states of the chains", picture_grid(last, side, side, 6, scale))});
}

void add_sampling(Page& page, const fs::path& directory) {
  const Json summary = read_json(directory / "summary.json");
  page.title = fmt::format("{} by {}", summary.value("model", "?"), summary.value("sampler", "?"));
  Json list = Json::object();
  for (const auto& [key, value] : summary.items()) {
    if (!value.is_structured()) list[key] = value.is_boolean() ? Json(value.dump()) : value;
  }
  page.add("", "", {facts(list)});
  const Json effective = summary.value("ess", Json::object());
  Json ess = Json::array();
  for (const auto& [key, value] : effective.items()) ess.push_back({key, value});
  page.add(
      "Effective sample size",
      fmt::format(
          "The table gives effective sample sizes of the {}. The rows from mean to per_second_all "
          "use the papers' estimator on single chains; bulk and tail use all chains together.",
          summary.value("statistic", "energy")),
      {table("", {{"", true}, {"value"}}, ess)});
  if (!fs::exists(directory / "samples.pt")) return;
  torch::Tensor samples, energy;
  for (const auto& [name, tensor] : read_named_tensors(directory / "samples.pt")) {
    (name == "samples" ? samples : energy) = tensor;
  }
  require(samples.defined() && energy.defined() && samples.dim() == 3 && energy.dim() == 2,
          "{} does not hold the tensors samples and energy", (directory / "samples.pt").string());
  if (energy.size(0) == 0) return;
  page.add("Chains", "", {charts("", sampling_charts(energy, summary.value("thin", int64_t{1})))});
  if (fs::exists(directory / "inpainted.png")) return;  // inpainting.cpp shows states
  const Json images = state_pictures(samples);
  if (!images.empty()) page.add("States", "", {pictures("", images)});
}

}  // namespace

std::vector<Section> sampling_sections() {
  return {{"summary.json", add_sampling}};
}

}  // namespace isinglass::report
