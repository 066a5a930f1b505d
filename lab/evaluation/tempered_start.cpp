// Implements the ladder whose states start the reverse chains.
#include "lab/evaluation/tempered_start.h"

#include <algorithm>

#include "io/error.h"
#include "io/pt/entries.h"
#include "lab/run/tempering.h"

namespace isinglass {
namespace {

constexpr int64_t kChainsEach = 10;  // Each ensemble serves this many chains.
constexpr int64_t kLeastScans = 1024;
constexpr const char* kStartCheckpoint = "the annealing checkpoint's reverse start";

}  // namespace

TemperedStart::TemperedStart(const EvaluateSpec& spec, EnergyModel& model, const Factorised& start,
                             int64_t temperatures, int64_t first_chain, const Context& context)
    : chains_(spec.chains) {
  EvaluateSpec ladder = spec;
  if (ladder.rungs.empty()) ladder.rungs = "auto";
  ladder.chains = std::max<int64_t>(2, (chains_ + kChainsEach - 1) / kChainsEach);
  require_options(ladder.chains >= context.ranks->size(),
                  "`reverse-from` tempering has one ensemble for every {} chains: `chains` is {}, "
                  "which is too few for {} ranks",
                  kChainsEach, chains_, context.ranks->size());
  const int64_t scans = std::max(temperatures / 2, kLeastScans);
  tempering_ = tempering_of(ladder, scans, model, start, context);
  ladder_ =
      std::make_unique<TemperedEstimate>(ladder, model, *tempering_, start, scans, first_chain,
                                         context, (chains_ + ladder.chains - 1) / ladder.chains);
  steps_ = ladder_->steps_total();
}

bool TemperedStart::run(const std::function<void()>& on_step, const std::function<bool()>& stop) {
  if (finished()) return true;
  if (!ladder_->run(on_step, stop)) return false;
  states_ = ladder_->states().flatten(0, 1).slice(0, -chains_).contiguous();
  rhat_ = ladder_->rhat();
  round_trips_ = ladder_->round_trips();
  rungs_ = ladder_->rung_history().size(1);
  evaluations_ = ladder_->energy_evaluations();
  ladder_.reset();
  tempering_.reset();
  return true;
}

PtDict TemperedStart::checkpoint() const {
  if (!finished()) return {{"ladder", {ladder_->checkpoint()}}};
  return {{"states", {states_}},
          {"rhat", {rhat_}},
          {"round_trips", {round_trips_}},
          {"rungs", {rungs_}},
          {"evaluations", {evaluations_}}};
}

void TemperedStart::restore(const PtDict& checkpoint) {
  const PtEntries entries(checkpoint, kStartCheckpoint);
  if (const auto* ladder = entries.find<PtDict>("ladder")) {
    ladder_->restore(*ladder);
    return;
  }
  states_ = entries.tensor("states");
  require(states_.dim() == 2 && states_.size(0) == chains_, "{} does not hold {} states",
          kStartCheckpoint, chains_);
  rhat_ = entries.real("rhat");
  round_trips_ = entries.real("round_trips");
  rungs_ = entries.integer("rungs");
  evaluations_ = entries.integer("evaluations");
  ladder_.reset();
  tempering_.reset();
}

nlohmann::ordered_json TemperedStart::json() const {
  return {{"steps", steps_}, {"rungs", rungs_}, {"round_trips", round_trips_}};
}

}  // namespace isinglass
