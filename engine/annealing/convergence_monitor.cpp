// Implements the monitor of equilibrium.
#include "engine/annealing/convergence_monitor.h"

#include <limits>

#include "engine/diagnostics/rank_normalised.h"
#include "io/pt/entries.h"

namespace isinglass {

ConvergenceMonitor::ConvergenceMonitor(int64_t chains, torch::Device device)
    : energies_(
          torch::zeros({kRows, chains}, torch::TensorOptions(torch::kFloat64).device(device))) {}

bool ConvergenceMonitor::check(int64_t steps, const torch::Tensor& energy, double rounding,
                               const Ranks& ranks) {
  steps_ += steps;
  if (steps_ % every_ != 0) return false;
  energies_[rows_++].copy_(energy);
  if (rows_ < kRows) return false;
  const torch::Tensor half = energies_.slice(0, kRows / 2).t();
  rhat_ = agreement_rhat(ranks.gather(half.contiguous()).t().to(torch::kCPU), rounding);
  // Keeps every second energy, so that the buffer covers twice as many steps.
  energies_.slice(0, 0, kRows / 2).copy_(energies_.slice(0, 1, kRows, 2).clone());
  rows_ = kRows / 2;
  every_ *= 2;
  return true;
}

PtDict ConvergenceMonitor::saved(const Ranks& ranks) const {
  const torch::Tensor all = ranks.gather(energies_.t().contiguous()).t().contiguous();
  return {{"energies", {all.to(torch::kCPU)}},
          {"rows", {rows_}},
          {"every", {every_}},
          {"steps", {steps_}},
          {"rhat", {rhat_}}};
}

void ConvergenceMonitor::restore(const PtDict& saved, const Shard& own, torch::Device device) {
  const PtEntries entries(saved, "the entry 'equilibrium' of the annealing checkpoint");
  const torch::Tensor energies = entries.tensor("energies");
  require(energies.dim() == 2 && energies.size(1) >= own.first + own.count,
          "the entry 'equilibrium' of the annealing checkpoint is damaged");
  energies_ = energies.narrow(1, own.first, own.count).to(device, torch::kFloat64).clone();
  rows_ = entries.integer("rows");
  every_ = entries.integer("every");
  steps_ = entries.integer("steps");
  rhat_ = entries.real("rhat");
  require(energies_.dim() == 2 && energies_.size(0) == kRows && rows_ >= 0 && rows_ < kRows &&
              every_ >= 1 && steps_ >= 0,
          "the entry 'equilibrium' of the annealing checkpoint is damaged");
}

}  // namespace isinglass
