// Log-likelihoods of a model on a data set: annealing (engine/ais.h) gives log Z, and
// log π(x) = −U(x) − log Z.
#pragma once

#include <string>
#include <vector>

#include "engine/ais.h"
#include "train/dataset.h"

namespace isinglass {

// Where annealing starts: the base distribution that the model carries; else Bernoulli(clamped
// mean) of the data; else, with no data (null), the uniform distribution.
Factorised annealing_start(const EnergyModel& model, const Dataset* data, torch::Device device);

struct SplitLikelihood {
  std::string split;    // "train", "validation", "test"
  int64_t images;       // in the split
  double model;         // mean log π, nats an image
  double bits_per_dim;  // −model / (D ln 2)
  double bernoulli;     // mean log-likelihood of independent Bernoulli(clamped mean)
};

// Of every split that the set has, on the copy binarised once.
std::vector<SplitLikelihood> split_likelihoods(EnergyModel& model, const Dataset& data,
                                               double log_z, torch::Device device);

// A quick estimate of the mean log π of the first validation images, for choosing between
// checkpoints: 100 chains, 1000 temperatures. Throws Error if the set has no validation split.
double quick_validation_likelihood(EnergyModel& model, const Sampler& sampler, const Dataset& data,
                                   uint64_t seed, torch::Device device);

}  // namespace isinglass
