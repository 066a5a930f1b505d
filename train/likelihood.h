// Log-likelihoods of a model on a data set. Annealing (engine/annealing/ais.h) estimates log Z, and
// log π(x) = −U(x) − log Z.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/annealing/ais.h"
#include "engine/annealing/base_weights.h"
#include "train/data/dataset.h"
#include "train/metrics.h"

namespace isinglass {

// Returns the distribution at which annealing starts. For discrete states it is the base
// distribution that the model carries, which is the base of a residual model with log Z NaN if it
// is not known; else independent pixels with the clamped mean of the data;
// else, without data (null), the uniform distribution. For continuous states it is a normal
// distribution of standard deviation `scale` (default 1), or the uniform one within bounds. Throws
// Error if `scale` is given for discrete states or for states within bounds.
Factorised annealing_start(const EnergyModel& model, const Dataset* data, torch::Device device,
                           const std::optional<double>& scale = {});

struct SplitLikelihood {
  std::string split;      // "train", "validation", "test"
  LikelihoodBounds nats;  // mean log π [nats per image], with log Z estimated from either end
  double quoted;          // the one of these bounds to quote
  // Bits per dimension of `quoted`.
  double bits_per_dim;
  // Mean log-likelihood of independent sites [nats per image]: pixels with the clamped mean of the
  // training images or, for points, normal ones with the means and variances of the training
  // points; NaN if one of these variances is 0.
  double independent;
  double independent_bits_per_dim;
  bool points;  // densities of points, in place of probabilities of images
};

// Returns −nats / (D ln 2).
double bits_per_dim(double nats, int64_t sites);

// The terms of a split's log-likelihood other than log Z.
struct SplitEnergy {
  std::string split;
  int64_t sites;
  double mean;         // mean of U
  double independent;  // as in SplitLikelihood
  bool points = false;

  double nats(double log_z) const { return -mean - log_z; }
  SplitLikelihood at(const LogZBounds& log_z, const BracketVerdict& verdict) const;
};

// Returns the terms for every split of the set, computed on the copy binarised once (points: on
// their values), except for training images with missing values. Ranks share the images. Returns
// nothing if `stop`, which is called every 200 images, became true on a rank. Throws Error if no
// split is left, or if points are outside the bounds of the model, and NumericalError, naming the
// split and the row, if the energy of an image is not finite.
std::optional<std::vector<SplitEnergy>> split_energies(EnergyModel& model, const Dataset& data,
                                                       torch::Device device,
                                                       const Ranks& ranks = Ranks::single_process(),
                                                       const std::function<bool()>& stop = {});

struct ValidationOptions {
  int64_t chains = 100, temperatures = 10000;
  int64_t images = 1000;  // number of images, from the start of the split
  PathKind path = PathKind::kLinear;
  uint64_t seed = 0;
};

// Estimates the mean log π of validation images [nats per image] quickly, for choosing between
// checkpoints. It uses forward annealing only, so that its verdict is "open" by definition. Every
// call uses the same random numbers. With block Gibbs sweeps it anneals along the joint path
// (path.h). All ranks share the work. Returns nothing if stop() became true on a rank. Throws Error
// if the set has no validation split, and NumericalError as split_energies does.
std::optional<ValidationScore> quick_validation_likelihood(
    EnergyModel& model, const Sampler& sampler, const Dataset& data,
    const ValidationOptions& options, torch::Device device, const std::function<bool()>& stop = {},
    const Ranks& ranks = Ranks::single_process());

// Estimates the same for a residual model whose base has a known log Z, by importance weights of
// draws of the base, which costs one evaluation of the network at each draw. Its standard error is
// that of log Z, with the base's own if this is known. Its verdict is "open" by definition. All
// ranks share the work.
ValidationScore weighted_validation_likelihood(ResidualModel& model, const BaseDraws& draws,
                                               const Dataset& data,
                                               const ValidationOptions& options,
                                               torch::Device device,
                                               const Ranks& ranks = Ranks::single_process());

}  // namespace isinglass
