// What may be said about a sampler, by name and value, and what a sampler says of each option.
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

// What may be said about a sampler; the entry in the registry tells which of it the sampler reads,
// with defaults and ranges.
struct SamplerOptions {
  std::optional<double> radius = {}, tau = {}, step_size = {}, block = {}, sigma = {}, alpha = {};
  std::optional<double> target_acceptance = {};
  std::optional<double> leapfrog = {}, pull = {}, group = {}, mass = {}, damping = {};
  Balancing balancing = Balancing::kSqrt;
  Scan scan = Scan::kRandom;
  bool adapt = false;           // the step size, in burn-in
  bool unadjusted = false;      // no Metropolis test: not exact
  bool monotonic = false;       // lsb-2: a monotonic balancing function
  bool always_accept = false;   // no Metropolis test: not exact
  bool elastic_energy = false;  // fhl: the pull in the energy, too: not exact
  bool warm = false;            // the numbers were adapted by an earlier run
};

// An option of a sampler: its name, its default (undefined: none) and range.
struct SamplerOptionUse {
  std::string name;
  std::optional<double> initial = {};
  double least = 0, most = 0;  // of a number; equal for switches and choices
  bool whole = false;          // whole numbers only
  bool above_least = false;    // the least itself is refused
  // What the model allows, given the options before this one in sampler_numbers(): the default is
  // cut to it. Null: any default will do.
  std::function<double(const SamplerOptions&, const EnergyModel&)> largest = nullptr;
};

// Entries made by the families.
std::vector<SamplerOptionUse> radius_option(double initial, bool whole);
SamplerOptionUse balancing_option();
std::vector<SamplerOptionUse> adaptation_options(double target);

// The numeric options and the switches: the name and the member that holds it.
const std::vector<std::pair<std::string, std::optional<double> SamplerOptions::*>>&
sampler_numbers();
const std::vector<std::pair<std::string, bool SamplerOptions::*>>& sampler_switches();

// The balancing functions and the scans by name, in the order of their enumerations.
const std::vector<std::string>& balancing_names();
const std::vector<std::string>& scan_names();

}  // namespace isinglass
