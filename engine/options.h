// The options of samplers: their values, and the description of each option that a sampler reads.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/balancing.h"

namespace isinglass {

class EnergyModel;

enum class Scan { kRandom, kSystematic, kChromatic };

// The values of all sampler options. A sampler's entry in the registry lists the options that it
// reads, with their defaults and ranges.
struct SamplerOptions {
  std::optional<double> radius = {}, tau = {}, step_size = {}, block = {}, sigma = {}, alpha = {};
  std::optional<double> target_acceptance = {};
  std::optional<double> leapfrog = {}, pull = {}, group = {}, mass = {}, damping = {};
  Balancing balancing = Balancing::kSqrt;
  Scan scan = Scan::kRandom;
  bool adapt = false;          // adapts the step size in burn-in
  bool unadjusted = false;     // omits the Metropolis test: not exact
  bool monotonic = false;      // lsb-2, flsb-2: learns a monotonic balancing function
  bool always_accept = false;  // omits the Metropolis test of trajectories: not exact
  // fhl: adds the energy of the pull to the Metropolis test: not exact
  bool elastic_energy = false;
  bool warm = false;  // true if the numbers come from the adaptation of an earlier run
};

// Describes an option that a sampler reads: its name, its default (undefined if there is none) and
// its range.
struct SamplerOptionUse {
  std::string name;
  std::optional<double> initial = {};
  // The range of a number; both ends are equal for switches and choices.
  double least = 0, most = 0;
  bool whole = false;        // allows whole numbers only
  bool above_least = false;  // excludes the lower end itself
  // Returns the largest value that suits the model, given the options that come earlier in
  // sampler_numbers(); a larger default is lowered to it. Null: the default suits every model.
  std::function<double(const SamplerOptions&, const EnergyModel&)> largest = nullptr;
};

// Build the descriptions of options that several families share.
std::vector<SamplerOptionUse> radius_option(double initial, bool whole);
SamplerOptionUse balancing_option();
std::vector<SamplerOptionUse> adaptation_options(double target);

// List the numeric options and the switches: each option's name and the member of SamplerOptions
// that holds it.
const std::vector<std::pair<std::string, std::optional<double> SamplerOptions::*>>&
sampler_numbers();
const std::vector<std::pair<std::string, bool SamplerOptions::*>>& sampler_switches();

// List the names of the balancing functions and of the scans, in the order of their enumerations.
const std::vector<std::string>& balancing_names();
const std::vector<std::string>& scan_names();

}  // namespace isinglass
