// Implements the recorder of acceptance and moved sites.
#include "engine/observers/step_recorder.h"

#include "io/error.h"
#include "io/pt/entries.h"

namespace isinglass {

StepRecorder::StepRecorder(const RunPlan& plan, const Ranks& ranks) : plan_(plan), ranks_(ranks) {}

void StepRecorder::begin(int64_t own, int64_t chains, torch::Device device) {
  steps_acceptance_ = torch::zeros({own}, torch::device(device).dtype(torch::kFloat64));
  steps_hops_ = torch::zeros_like(steps_acceptance_);
  for (GatheredDraws* draws : {&acceptance_, &hops_}) {
    *draws = GatheredDraws(
        torch::empty(
            {plan_.steps / plan_.thin, chains},
            torch::device(ranks_.is_rank0() ? torch::kCPU : torch::kMeta).dtype(torch::kFloat64)),
        ranks_);
  }
}

void StepRecorder::on_step(int64_t, bool burn_in, const ChainState& state) {
  if (burn_in) return;
  if (!steps_acceptance_.defined()) {
    begin(state.chains(), ranks_.sum(torch::tensor(state.chains())).item<int64_t>(),
          state.x.device());
  }
  steps_acceptance_.add_(state.statistics.acceptance);
  steps_hops_.add_(state.statistics.hops);
}

void StepRecorder::on_draw(int64_t draw, const ChainState&) {
  const double steps = static_cast<double>(plan_.thin);
  acceptance_.put(steps_acceptance_.div_(steps));
  hops_.put(steps_hops_.div_(steps));
  steps_acceptance_.zero_();
  steps_hops_.zero_();
  made_ = draw + 1;
}

void StepRecorder::on_end() {
  acceptance_.finish();
  hops_.finish();
}

void StepRecorder::save_draws(int64_t first, PtDict& dict) const {
  if (!acceptance_.all().defined()) return;
  put(dict, "acceptance", acceptance_.all().narrow(0, first, made_ - first));
  put(dict, "hops", hops_.all().narrow(0, first, made_ - first));
}

void StepRecorder::restore_draws(int64_t draws, const PtDict& saved, const std::string& file) {
  const PtEntries entries(saved, file);
  for (const auto& [own, name] : {std::pair(&acceptance_, "acceptance"), {&hops_, "hops"}}) {
    torch::Tensor rows = own->all().narrow(0, 0, 0);
    if (!saved.empty()) rows = entries.tensor(name);
    require(rows.dim() == 2 && rows.size(1) == own->all().size(1) &&
                (saved.empty() || made_ + rows.size(0) == draws),
            "{} holds the draws of another run", file);
    own->restore(draws, rows);
  }
  made_ = draws;
}

PtDict StepRecorder::sums() const {
  PtDict dict;
  if (!steps_acceptance_.defined()) return dict;
  put(dict, "acceptance", ranks_.gather(steps_acceptance_).cpu());
  put(dict, "hops", ranks_.gather(steps_hops_).cpu());
  return dict;
}

void StepRecorder::restore_sums(const PtDict& saved, Shard own, torch::Device device) {
  if (saved.empty()) return;
  const PtEntries entries(saved, "the saved sums since the last draw");
  const torch::Tensor &acceptance = entries.tensor("acceptance"), &hops = entries.tensor("hops");
  require(acceptance.dim() == 1 && hops.sizes() == acceptance.sizes() &&
              own.first + own.count <= acceptance.size(0),
          "the saved sums since the last draw belong to other chains");
  begin(own.count, acceptance.size(0), device);
  steps_acceptance_.copy_(own.of(acceptance));
  steps_hops_.copy_(own.of(hops));
}

}  // namespace isinglass
