// See cooling.h.
#include "engine/annealing/cooling.h"

#include <algorithm>
#include <cmath>

namespace isinglass {
namespace {

constexpr int64_t kLevels = 100;

}  // namespace

void CooledLattice::set_beta(double beta) {
  beta_ = beta;
  forget_lattice();
}

ops::LatticeTensors CooledLattice::make_lattice() const {
  ops::LatticeTensors lattice = target_.lattice(device_);
  lattice.unary = beta_ * lattice.unary;
  lattice.coupling = beta_ * lattice.coupling;
  lattice.constant *= beta_;
  return lattice;
}

Cooling::Cooling(EnergyModel& target, Temperatures temperatures, torch::Device device)
    : temperatures_(temperatures),
      temperature_(temperatures.first),
      nothing_(Factorised::uniform(target.space(), device)) {
  if (auto* lattice = dynamic_cast<LatticeModel*>(&target)) {
    lattice_ = std::make_unique<CooledLattice>(*lattice, device);
  } else {
    annealed_ = std::make_unique<AnnealedModel>(target, nothing_, device);
  }
}

EnergyModel& Cooling::model() {
  if (lattice_) return *lattice_;
  return *annealed_;
}

void Cooling::at_step(int64_t t, int64_t steps, const Sampler& sampler, ChainState& state) {
  const int64_t levels = std::min(steps, kLevels), level = t * levels / steps;
  if (level == level_) return;
  level_ = level;
  const double share =  // one level is the last
      levels > 1 ? static_cast<double>(level) / static_cast<double>(levels - 1) : 1;
  temperature_ = temperatures_.first * std::pow(temperatures_.last / temperatures_.first, share);
  if (lattice_) {
    lattice_->set_beta(1 / temperature_);
    sampler.renew(*lattice_, state);
  } else {
    annealed_->set_beta(1 / temperature_, state.current);
  }
}

// Without gradients, the cache and the sampler's own buffers, which observers do not read.
ChainState Uncooled::shown(const ChainState& state) const {
  ChainState view;
  view.x = state.x;
  view.current.energy = state.current.energy * cooling_.temperature();
  view.chain_ids = state.chain_ids;
  view.statistics = state.statistics;
  return view;
}

void Uncooled::on_step(int64_t step, bool burn_in, const ChainState& state) {
  const ChainState view = shown(state);
  for (Observer* observer : observers_) observer->on_step(step, burn_in, view);
}

bool Uncooled::every_step(bool burn_in) const {
  return std::any_of(observers_.begin(), observers_.end(),
                     [&](const Observer* observer) { return observer->every_step(burn_in); });
}

void Uncooled::on_sampling_start() {
  for (Observer* observer : observers_) observer->on_sampling_start();
}

void Uncooled::on_draw(int64_t draw, const ChainState& state) {
  const ChainState view = shown(state);
  for (Observer* observer : observers_) observer->on_draw(draw, view);
}

}  // namespace isinglass
