// The options of samplers: their values, their descriptions, and the defaults and ranges of the
// options that a sampler reads.
#pragma once

#include <functional>
#include <optional>
#include <string>
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
  std::optional<double> sweeps = {}, base_moves = {};
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
  // sampler_options(); a larger default is lowered to it. Null: the default suits every model.
  std::function<double(const SamplerOptions&, const EnergyModel&)> largest = nullptr;
  bool on_base = false;  // is read with models that have a base only (models/on_base.h)
};

// Build the descriptions of options that several families share.
std::vector<SamplerOptionUse> radius_option(double initial, bool whole);
SamplerOptionUse balancing_option();
std::vector<SamplerOptionUse> adaptation_options(double target);
SamplerOptionUse base_moves_option();

// Describes an option wherever options are listed: in the help of the command line and in
// documents. Either `number` or `flag` is the member of SamplerOptions that holds the value, or
// both are null for a choice of a name.
struct SamplerOption {
  std::string name;
  std::optional<double> SamplerOptions::* number = nullptr;
  bool SamplerOptions::* flag = nullptr;
  std::string unit = {};  // stands for the value in help texts, e.g. R or NAME; empty for switches
  std::string help;       // refers to other options as error messages do (io/error.h)
  std::vector<std::string> choices = {};
};

// Returns every option that a sampler of the registry may read, in the order of the help text.
const std::vector<SamplerOption>& sampler_options();

// List the names of the balancing functions and of the scans, in the order of their enumerations.
const std::vector<std::string>& balancing_names();
const std::vector<std::string>& scan_names();

}  // namespace isinglass
