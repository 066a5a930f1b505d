// Implements the choice of the reverse chains' start.
#include "lab/evaluation/reverse_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/diagnostics/energy_rounding.h"
#include "engine/diagnostics/rank_normalised.h"
#include "io/error.h"
#include "io/pt/entries.h"
#include "io/pt/pt_file.h"
#include "models/energies.h"
#include "models/exact_samples.h"
#include "models/states.h"

namespace isinglass {
namespace {

// Long chains may take kLongest times the steps of an annealing, and at least kLeastSteps, which
// gives several computations of R̂.
constexpr int64_t kLongest = 4, kLeastSteps = 2048;

// Returns the draws of a samples.pt, or the tensor that any other file holds.
torch::Tensor states_in(const std::string& file) {
  const PtValue content = read_pt(file);
  if (content.is_tensor()) return std::get<torch::Tensor>(content.value);
  const auto* dict = std::get_if<PtDict>(&content.value);
  const auto* samples = dict ? PtEntries(*dict, file).find<torch::Tensor>("samples") : nullptr;
  require(samples, "{} holds neither a tensor of states nor samples", file);
  return *samples;
}

// Takes draws [N, B, D] of chains, or independent states [N, D], for which R̂ is unknown (NaN).
ReverseStart saved_states(const std::string& file, EnergyModel& model, int64_t chains,
                          torch::Device device) {
  const torch::Tensor x = states_in(file);
  require(x.dim() == 2 || x.dim() == 3,
          "{} holds a tensor of {} dimensions; states are [N, D], draws of chains [N, B, D]", file,
          x.dim());
  const bool draws = x.dim() == 3;
  const int64_t columns = draws ? x.size(1) : 1;
  const torch::Tensor rows =
      as_states(model.space(), x.reshape({-1, x.size(-1)}), "the states of " + file);
  require_options(rows.size(0) >= chains, "`chains` is {}, but {} holds {} states", chains, file,
                  rows.size(0));
  // Chooses states as late and as far apart as possible: equally many draws of every chain, from
  // its second half if that has enough.
  const int64_t each = (chains + columns - 1) / columns, length = rows.size(0) / columns;
  torch::Tensor chosen = torch::empty({chains}, torch::kInt64);
  const int64_t span = std::max(each, (length + 1) / 2);
  for (int64_t n = 0; n < chains; ++n) {
    const int64_t draw = length - 1 - n / columns * (span / each);
    chosen[n] = draw * columns + n % columns;
  }
  double rhat = NAN;
  if (draws) {
    const torch::NoGradGuard no_grad;
    const torch::Tensor energy = energies(model, rows, device).to(torch::kCPU, torch::kFloat64);
    rhat = agreement_rhat(energy.view({length, columns}),
                          energy_rounding(model, rows.slice(0, 0, columns).to(device)));
  }
  return {.states = rows.index_select(0, chosen).to(device), .rhat = rhat};
}

}  // namespace

bool starts_from_file(const std::string& said) {
  return !said.empty() && said != kExactStart && said != kChainsStart && said != kTemperedStart &&
         said != kAnyStart;
}

std::string resolved_reverse_start(const std::string& said, const EnergyModel& model) {
  const bool exact = exact_samples_of(model) != nullptr;
  if (said.empty() || said == kAnyStart) return exact ? kExactStart : kAnyStart;
  require_options(said != kExactStart || exact,
                  "`reverse-from` is exact, but {} has no exact draws; chains, tempering or a file "
                  "of states is needed",
                  model.title());
  return said;
}

ReverseStart reverse_start(const std::string& resolved, EnergyModel& model, int64_t chains,
                           int64_t temperatures, int64_t first_chain, uint64_t seed,
                           torch::Device device) {
  if (resolved == kChainsStart) {
    return {.longest = std::max(kLongest * temperatures, kLeastSteps)};
  }
  if (resolved == kTemperedStart) return {};
  if (resolved != kExactStart) return saved_states(resolved, model, chains, device);
  const auto ids = torch::arange(first_chain, first_chain + chains,
                                 torch::TensorOptions(torch::kInt64).device(device));
  return {.states = exact_samples_of(model)->exact_samples(ids, seed)};
}

nlohmann::ordered_json reverse_start_json(const std::string& resolved,
                                          const ReverseResult& reverse) {
  nlohmann::ordered_json json = {{"from", resolved}, {"rhat", reverse.rhat}};
  if (resolved == kChainsStart) json["steps"] = reverse.equilibrium_steps;
  return json;
}

}  // namespace isinglass
