// See cooling.h.
#include "engine/cooling.h"

#include <cmath>

namespace isinglass {
namespace {

// Without gradients, the cache and the sampler's own buffers, which observers do not read.
ChainState shown(const ChainState& state) {
  ChainState view;
  view.x = state.x;
  view.current.energy = AnnealedModel::target_energy(state.current);
  view.chain_ids = state.chain_ids;
  view.statistics = state.statistics;
  return view;
}

}  // namespace

Cooling::Cooling(EnergyModel& target, Temperatures temperatures, torch::Device device)
    : temperatures_(temperatures),
      nothing_(Factorised::uniform(target.space(), device)),
      model_(target, nothing_, device) {}

void Cooling::at_step(int64_t t, int64_t steps, ChainState& state) {
  const double share =
      steps > 1 ? static_cast<double>(t) / static_cast<double>(steps - 1) : 1;  // of the cooling
  const double temperature =
      temperatures_.first * std::pow(temperatures_.last / temperatures_.first, share);
  model_.set_beta(1 / temperature, state.current);
}

void Uncooled::on_step(int64_t step, bool burn_in, const ChainState& state) {
  const ChainState view = shown(state);
  for (Observer* observer : observers_) observer->on_step(step, burn_in, view);
}

void Uncooled::on_sampling_start() {
  for (Observer* observer : observers_) observer->on_sampling_start();
}

void Uncooled::on_draw(int64_t draw, const ChainState& state) {
  const ChainState view = shown(state);
  for (Observer* observer : observers_) observer->on_draw(draw, view);
}

}  // namespace isinglass
