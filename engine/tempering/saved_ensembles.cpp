// What is saved of parallel tempering. See parallel_tempering.h.
#include "engine/tempering/ensembles.h"
#include "io/error.h"
#include "io/pt/entries.h"

namespace isinglass {
namespace {

using torch::Tensor;

constexpr const char* kWhat = "the tempering checkpoint";

// Not the tensor itself, which goes on changing.
Tensor copy_of(const Tensor& t, torch::Device device = torch::kCPU) {
  return t.to(device, t.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
}

}  // namespace

PtDict ParallelTempering::saved(const ChainState& state, const StepParams& params) const {
  Scratch& s = scratch_of(state);
  PtDict dict;
  const auto add = [&dict](const char* key, auto value) {
    dict.emplace_back(key, PtValue{std::move(value)});
  };
  add("step", params.step());
  add("first", s.sums.first);
  add("round", s.round);
  add("rounds", s.rounds);
  add("x", copy_of(s.chains.x));
  add("betas", copy_of(s.rungs.beta));
  add("scales", copy_of(s.rungs.scale));
  for (const auto& [name, tensor] : s.kept(state.statistics)) add(name, copy_of(tensor));
  PtList cache(s.chains.current.cache.size());
  for (size_t i = 0; i < cache.size(); ++i) cache[i].value = copy_of(s.chains.current.cache[i]);
  add("cache", std::move(cache));
  return dict;
}

void ParallelTempering::restore_saved(ChainState& state, StepParams& params,
                                      const PtDict& saved) const {
  const PtEntries entries(saved, kWhat);
  const Tensor betas = entries.tensor("betas"), scales = entries.tensor("scales");
  const auto rungs = betas.numel();
  const Tensor& x = entries.tensor("x");
  require(betas.dim() == 1 && rungs >= 2 && x.dim() == 2 && x.size(0) == state.chains() * rungs &&
              (!options_.rungs || *options_.rungs == rungs),
          "{} is of other ensembles", kWhat);
  check_states(target_.space(), x, std::string(kWhat) + "'s states");
  const torch::Device device = state.x.device();
  params.rng.select(0, 1).fill_(entries.integer("step"));
  const double* of_rungs = betas.const_data_ptr<double>();
  build(state, copy_of(x, device), {of_rungs, of_rungs + rungs}, copy_of(scales, device), 0);
  Scratch& s = scratch_of(state);
  const auto copy = [](const Tensor& from, const Tensor& to) {
    require(from.sizes() == to.sizes() && from.scalar_type() == to.scalar_type(),
            "{} holds tensors of other ensembles", kWhat);
    to.copy_(from);
  };
  copy(entries.tensor("chain"), s.at.chain);  // before the others: it says where chains stand
  const auto* cache = entries.find<PtList>("cache");
  require(cache && cache->size() == s.chains.current.cache.size(),
          "{} does not keep what the model does", kWhat);
  for (size_t i = 0; i < cache->size(); ++i) {
    require((*cache)[i].is_tensor(), "{}'s entry 'cache' holds more than tensors", kWhat);
    copy(std::get<Tensor>((*cache)[i].value), s.chains.current.cache[i]);
  }
  place(s);
  for (const auto& [name, tensor] : s.kept(state.statistics)) copy(entries.tensor(name), tensor);
  s.sums.first = entries.integer("first");
  s.round = entries.integer("round");
  s.rounds = entries.integer("rounds");
  const Tensor top = s.at.chain.select(1, s.size() - 1);
  state.x.copy_(s.chains.x.index_select(0, top));
  state.current.energy.copy_(s.chains.current.energy.index_select(0, top));
}

}  // namespace isinglass
