// Implements saving and restoring of chains.
#include "engine/run/saved_chains.h"

#include <string>
#include <vector>

#include "io/error.h"
#include "io/pt/entries.h"

namespace isinglass {
namespace {

using torch::Tensor;

constexpr const char* kSavedChains = "the checkpoint of the chains";

// Returns the tensors that have a row per chain, with their names in the file.
std::vector<std::pair<std::string, Tensor>> saved_rows(const ChainState& state) {
  const Evaluation& now = state.current;
  const Statistics& counted = state.statistics;
  std::vector<std::pair<std::string, Tensor>> rows = {{"energy", now.energy},
                                                      {"acceptance_sum", counted.acceptance_sum},
                                                      {"hops_sum", counted.hops_sum},
                                                      {"non_finite", counted.non_finite}};
  const auto add = [&](const char* name, const Tensor& tensor) {
    if (tensor.defined()) rows.emplace_back(name, tensor);
  };
  add("gradient", now.gradient);
  add("differences", now.differences);
  add("kept", state.workspace.cache);
  if (counted.base_moves) {
    add("base_acceptance_sum", counted.base_moves->acceptance_sum);
    add("base_hops_sum", counted.base_moves->hops_sum);
    add("base_non_finite", counted.base_moves->non_finite);
  }
  for (size_t i = 0; i < now.cache.size(); ++i)
    rows.emplace_back(fmt::format("cache{}", i), now.cache[i]);
  return rows;
}

}  // namespace

PtDict saved_chains(const Sampler& sampler, const ChainState& state, const StepParams& params,
                    const Ranks& ranks) {
  PtDict dict, rows, learned;
  put(dict, "step", params.step());
  put(dict, "scale", params.scale.cpu().clone());
  put(dict, "x", ranks.gather(state.x).cpu());
  for (const auto& [name, tensor] : saved_rows(state)) {
    put(rows, name.c_str(), ranks.gather(tensor).cpu());
  }
  if (const HasWarmup* warmup = sampler.warmup()) {
    for (const auto& [name, tensor] : warmup->learned(state)) put(learned, name.c_str(), tensor);
  }
  put(dict, "rows", std::move(rows));
  put(dict, "learned", std::move(learned));
  return dict;
}

Tensor saved_states(const PtDict& saved, int64_t chains) {
  const Tensor& x = PtEntries(saved, kSavedChains).tensor("x");
  require(x.dim() == 2 && x.size(0) == chains, "{} holds {} chains, but the run has {}",
          kSavedChains, x.dim() == 2 ? x.size(0) : 0, chains);
  return x;
}

void restore_chains(const Sampler& sampler, ChainState& state, StepParams& params,
                    const PtDict& saved, Shard own) {
  const PtEntries entries(saved, kSavedChains);
  const auto copy = [](const Tensor& from, const Tensor& to, const std::string& name) {
    require(from.sizes() == to.sizes() && from.scalar_type() == to.scalar_type(),
            "{}: '{}' belongs to another model or sampler", kSavedChains, name);
    to.copy_(from);
  };
  params.rng.select(0, 1).fill_(entries.integer("step"));
  copy(entries.tensor("scale"), params.scale, "scale");
  NamedTensors learned;
  for (const auto& [name, value] : entries.dict("learned")) {
    learned.emplace_back(name, PtEntries(entries.dict("learned"), kSavedChains).tensor(name));
  }
  if (!learned.empty()) {
    require(sampler.warmup(), "{}: 'learned' belongs to another model or sampler", kSavedChains);
    sampler.warmup()->restore(state, learned);
  }
  const PtEntries rows(entries.dict("rows"), kSavedChains);
  for (const auto& [name, tensor] : saved_rows(state)) {
    const Tensor& all = rows.tensor(name);
    require(all.dim() > 0 && all.size(0) >= own.first + own.count,
            "{}: '{}' holds fewer chains than the run has", kSavedChains, name);
    copy(own.of(all), tensor, name);
  }
}

}  // namespace isinglass
