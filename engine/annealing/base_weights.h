// log Z of a residual model (models/combined/residual.h) by importance weights of base draws:
//
//   log Z − log Z_base = log E_base exp(−g)
//
// The draws are made once, as long as the base stays as it is. With a bound c, the weights lie
// between exp(−c) and exp(c).
#pragma once

#include <cstdint>

#include "engine/context.h"
#include "models/combined/residual.h"

namespace isinglass {

// An estimate of log Z − log Z_base. The standard error counts the chains of the draws, because the
// draws of one chain depend on each other; with a single chain it is NaN.
struct BaseWeights {
  double log_ratio, standard_error;
  double ess;  // (Σw)² / Σw² of all draws
  int64_t draws;
};

class BaseDraws {
 public:
  static constexpr int64_t kChains = 100, kDraws = 50;  // the number of chains, and draws of each
  static constexpr int64_t kSweepsBetween = 10;         // two draws of a chain

  // Begins the chains as Factorised::base() does. The base must have Gibbs sweeps. Ranks share the
  // chains.
  BaseDraws(EnergyModel& base, uint64_t key, torch::Device device,
            const Ranks& ranks = Ranks::single_process());

  // Returns the estimate for a model on this base, the same on all ranks.
  BaseWeights weigh(ResidualModel& model) const;

 private:
  torch::Device device_;
  const Ranks& ranks_;
  torch::Tensor states_;  // [this rank's chains · kDraws, D], the draws of a chain in a row
};

}  // namespace isinglass
