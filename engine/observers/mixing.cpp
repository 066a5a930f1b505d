// Implements the check of the chains' agreement.
#include "engine/observers/mixing.h"

#include <algorithm>
#include <cmath>

#include "engine/diagnostics/rank_normalised.h"
#include "io/error.h"
#include "io/pt/entries.h"

namespace isinglass {
namespace {

constexpr int64_t kLooks = 64;

torch::Tensor moved_chains(const ChainState& state) {
  return state.statistics.hops.ne(0).to(torch::kFloat64);
}

}  // namespace

MixingWatch::MixingWatch(const StateSpace& space, const RunPlan& plan, int64_t chains,
                         torch::Device device, const Ranks& ranks, int64_t group)
    : group_(group > 0 ? group : chains) {
  const int64_t draws = plan.steps / plan.thin;
  every_ = std::max<int64_t>(1, (draws + kLooks - 1) / kLooks);
  const auto place = torch::device(ranks.is_rank0() ? torch::kCPU : torch::kMeta);
  const auto watch = [&](const std::string& name, Statistic statistic) {
    const torch::Tensor all = torch::empty({draws / every_, chains}, place.dtype(torch::kFloat64));
    watched_.push_back({name, std::move(statistic), GatheredDraws(all, ranks)});
  };
  for (const std::string& name : statistic_names()) {
    if (name == "energy" || (name == "hamming" && !space.discrete())) continue;
    watch(name, make_statistic(name, space, device));
  }
  watch("moved", moved_chains);
}

void MixingWatch::on_draw(int64_t draw, const ChainState& state) {
  if ((draw + 1) % every_ != 0) return;
  for (Watched& one : watched_) one.values.put(one.statistic(state));
  ++seen_;
}

void MixingWatch::on_end() {
  for (Watched& one : watched_) one.values.finish();
}

PtDict MixingWatch::saved() const {
  PtDict dict;
  for (const Watched& one : watched_) {
    put(dict, one.name.c_str(), one.values.all().narrow(0, 0, seen_));
  }
  return dict;
}

void MixingWatch::restore(const PtDict& saved) {
  const PtEntries entries(saved, "the saved agreement of chains");
  for (Watched& one : watched_) {
    const torch::Tensor &rows = entries.tensor(one.name), &all = one.values.all();
    require(rows.dim() == 2 && rows.size(1) == all.size(1) && rows.size(0) <= all.size(0) &&
                rows.scalar_type() == all.scalar_type(),
            "the saved agreement of chains belongs to another run");
    seen_ = rows.size(0);
    one.values.restore(seen_, rows);
  }
}

std::vector<std::pair<std::string, double>> MixingWatch::rhats() const {
  std::vector<std::pair<std::string, double>> all;
  for (size_t i = 0; i + 1 < watched_.size(); ++i) {
    const torch::Tensor seen = watched_[i].values.all().narrow(0, 0, seen_);
    all.emplace_back(watched_[i].name, seen_ > 0 ? rhat_of_groups(seen, group_) : NAN);
  }
  return all;
}

double MixingWatch::moved() const {
  if (seen_ == 0) return NAN;
  return watched_.back().values.all().narrow(0, 0, seen_).mean().item<double>();
}

}  // namespace isinglass
