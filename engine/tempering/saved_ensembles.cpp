// Implements the checkpoints of parallel tempering.
#include "engine/tempering/ensembles.h"
#include "io/error.h"
#include "io/pt/entries.h"

namespace isinglass {
namespace {

using torch::Tensor;

constexpr const char* kSavedEnsembles = "the tempering checkpoint";

// The range of a rank's ensembles among those of all ranks.
struct Ensembles {
  Shard own;
  int64_t all;

  Ensembles(int64_t count, const Ranks& ranks) {
    const Tensor counts = ranks.gather(torch::tensor({count}));
    own = {counts.slice(0, 0, ranks.rank()).sum().item<int64_t>(), count};
    all = counts.sum().item<int64_t>();
  }

  // Returns this rank's part of a tensor with equally many rows for each ensemble along `dim`.
  Tensor of(const Tensor& whole, int64_t dim) const {
    require(whole.dim() > dim && whole.size(dim) % all == 0, "{} belongs to other ensembles",
            kSavedEnsembles);
    const int64_t rows = whole.size(dim) / all;
    return whole.narrow(dim, own.first * rows, own.count * rows);
  }
};

// Gathers the parts of all ranks on the CPU, as a copy that later steps do not change.
Tensor whole(const Tensor& own, int64_t dim, const Ranks& ranks) {
  const Tensor rows = ranks.gather(own.transpose(0, dim).contiguous()).transpose(0, dim);
  return rows.to(torch::kCPU, rows.scalar_type(), /*non_blocking=*/false, /*copy=*/true)
      .contiguous();
}

}  // namespace

PtDict ParallelTempering::saved(const ChainState& state, const StepParams& params,
                                const Ranks& ranks) const {
  Scratch& s = scratch_of(state);
  const Ensembles ensembles(s.ensembles(), ranks);
  const auto all = [&](const Tensor& own) { return whole(own, 0, ranks); };
  const auto copy = [](const Tensor& own) { return whole(own, 0, Ranks::single_process()); };
  PtDict dict;
  put(dict, "step", params.step());
  put(dict, "first", s.sums.first);
  put(dict, "round", s.round);
  put(dict, "rounds", s.rounds);
  put(dict, "x", all(s.chains.x));
  put(dict, "betas", copy(s.rungs.beta));
  put(dict, "scales", copy(s.rungs.scale));
  put(dict, "chain", all(s.at.chain + ensembles.own.first * s.size()));
  for (const Scratch::Kept& kept : s.kept(state.statistics)) {
    put(dict, kept.name,
        kept.dim == Scratch::kOfTheFirst ? copy(kept.tensor) : whole(kept.tensor, kept.dim, ranks));
  }
  PtList cache(s.chains.current.cache.size());
  for (size_t i = 0; i < cache.size(); ++i) cache[i].value = all(s.chains.current.cache[i]);
  put(dict, "cache", std::move(cache));
  return dict;
}

void ParallelTempering::restore_saved(ChainState& state, StepParams& params, const PtDict& saved,
                                      const Ranks& ranks) const {
  const Ensembles ensembles(state.chains(), ranks);
  const PtEntries entries(saved, kSavedEnsembles);
  const Tensor betas = entries.tensor("betas"), scales = entries.tensor("scales");
  const auto rungs = betas.numel();
  const Tensor& x = entries.tensor("x");
  require(betas.dim() == 1 && rungs >= 2 && x.dim() == 2 && x.size(0) == ensembles.all * rungs &&
              (!options_.rungs || *options_.rungs == rungs),
          "{} belongs to other ensembles", kSavedEnsembles);
  check_states(target_.space(), x, std::string(kSavedEnsembles) + "'s states");
  const torch::Device device = state.x.device();
  params.rng.select(0, 1).fill_(entries.integer("step"));
  const double* of_rungs = betas.const_data_ptr<double>();
  build(state, ensembles.of(x, 0).to(device).clone(), {of_rungs, of_rungs + rungs},
        scales.to(device).clone(), 0);
  Scratch& s = scratch_of(state);
  const auto copy = [](const Tensor& from, const Tensor& to) {
    require(from.sizes() == to.sizes() && from.scalar_type() == to.scalar_type(),
            "{} holds the tensors of other ensembles", kSavedEnsembles);
    to.copy_(from);
  };
  // This comes before the other tensors, because it determines the rungs of the chains.
  copy(ensembles.of(entries.tensor("chain"), 0) - ensembles.own.first * rungs, s.at.chain);
  const auto* cache = entries.find<PtList>("cache");
  require(cache && cache->size() == s.chains.current.cache.size(),
          "{} does not hold the tensors that the model caches", kSavedEnsembles);
  for (size_t i = 0; i < cache->size(); ++i) {
    require((*cache)[i].is_tensor(), "{} has an entry 'cache' with values that are not tensors",
            kSavedEnsembles);
    copy(ensembles.of(std::get<Tensor>((*cache)[i].value), 0), s.chains.current.cache[i]);
  }
  place(s);
  for (const Scratch::Kept& kept : s.kept(state.statistics)) {
    const Tensor& all = entries.tensor(kept.name);
    copy(kept.dim == Scratch::kOfTheFirst ? all : ensembles.of(all, kept.dim), kept.tensor);
  }
  s.sums.first = entries.integer("first");
  s.round = entries.integer("round");
  s.rounds = entries.integer("rounds");
  const Tensor top = s.at.chain.select(1, s.size() - 1);
  state.x.copy_(s.chains.x.index_select(0, top));
  state.current.energy.copy_(s.chains.current.energy.index_select(0, top));
}

}  // namespace isinglass
