// Shows a bar chart of the energies of a run's draws, on pages of directories with samples.pt.
#include <fmt/format.h>

#include <cmath>

#include "io/pt/pt_file.h"
#include "lab/page/page.h"

namespace isinglass::report {
namespace {

constexpr int64_t kBars = 20;

void add_energies(Page& page, const std::filesystem::path& directory) {
  for (const auto& [name, tensor] : read_named_tensors(directory / "samples.pt")) {
    if (name != "energy" || tensor.numel() == 0) continue;
    const torch::Tensor energy = tensor.to(torch::kFloat64).flatten();
    const double least = energy.min().item<double>(), most = energy.max().item<double>();
    if (!std::isfinite(most - least)) return;
    const torch::Tensor count = energy.histc(kBars, least, most);
    Json bars = Json::array();
    for (int64_t i = 0; i < kBars; ++i) {
      const double middle = least + (most - least) * (i + 0.5) / kBars;
      bars.push_back(
          {{"label", fmt::format("{:.4g}", middle)}, {"value", count[i].item<double>()}});
    }
    page.add("Energies of all draws", "",
             {charts("", Json::array({bar_chart("Draws", false, bars)}))});
  }
}

}  // namespace

std::vector<Section> energies_sections() {
  return {{"samples.pt", add_energies}};
}

}  // namespace isinglass::report
