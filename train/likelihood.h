// Log-likelihoods of a model on a data set: annealing (engine/annealing/ais.h) gives log Z, and
// log π(x) = −U(x) − log Z.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/annealing/ais.h"
#include "train/data/dataset.h"
#include "train/metrics.h"

namespace isinglass {

// Where annealing starts: the base distribution that the model carries; else independent pixels by
// the clamped mean of the data; else, with no data (null), the uniform distribution. Of continuous states a
// normal one of standard deviation `scale` (none: 1), which others do not have: throws Error.
Factorised annealing_start(const EnergyModel& model, const Dataset* data, torch::Device device,
                           const std::optional<double>& scale = {});

struct SplitLikelihood {
  std::string split;      // "train", "validation", "test"
  LikelihoodBounds nats;  // mean log π per image, by log Z from either end
  double quoted;          // the one of them to quote
  double bits_per_dim;    // of that
  double independent;     // mean log-likelihood of independent pixels by the clamped mean, nats
  double independent_bits_per_dim;
};

// −nats / (D ln 2)
double bits_per_dim(double nats, int64_t sites);

// What the likelihoods of a split take beside log Z.
struct SplitEnergy {
  std::string split;
  int64_t sites;
  double mean;         // of U
  double independent;  // as above

  double nats(double log_z) const { return -mean - log_z; }
  SplitLikelihood at(const LogZBounds& log_z, const BracketVerdict& verdict) const;
};

// Of every split that the set has, on the copy binarised once, whose images ranks share. Throws
// NumericalError naming the split and the row of an image whose energy is not finite.
std::vector<SplitEnergy> split_energies(EnergyModel& model, const Dataset& data,
                                        torch::Device device, const Ranks& ranks = Ranks::alone());

struct ValidationOptions {
  int64_t chains = 100, temperatures = 10000;
  int64_t images = 1000;  // the first ones of the split
  PathKind path = PathKind::kLinear;
  uint64_t seed = 0;
};

// A quick estimate of the mean log π of validation images, nats per image, for choosing between
// checkpoints: by forward annealing alone, so that its verdict is open by definition. Every call
// has the same random numbers. Block Gibbs sweeps anneal along the joint path (path.h). None if
// stop() became true on a rank, all of which share the work. Throws Error if
// the set has no validation split, NumericalError as split_energies.
std::optional<ValidationScore> quick_validation_likelihood(
    EnergyModel& model, const Sampler& sampler, const Dataset& data,
    const ValidationOptions& options, torch::Device device, const std::function<bool()>& stop = {},
    const Ranks& ranks = Ranks::alone());

}  // namespace isinglass
