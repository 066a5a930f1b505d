// Implements the tables of option names, and the descriptions of options that families share.
#include "engine/options.h"

namespace isinglass {
namespace {

// Buffers of a path have 2R − 1 moves per chain, which bounds the radius R.
constexpr double kLargestRadius = 65536;

}  // namespace

const std::vector<std::string>& balancing_names() {
  static const std::vector<std::string> names = {"sqrt", "barker", "min", "max"};
  return names;
}

const std::vector<std::string>& scan_names() {
  static const std::vector<std::string> names = {"random", "systematic", "chromatic"};
  return names;
}

std::vector<SamplerOptionUse> radius_option(double initial, bool whole) {
  return {
      {.name = "radius", .initial = initial, .least = 1, .most = kLargestRadius, .whole = whole}};
}

SamplerOptionUse balancing_option() {
  return {.name = "balancing"};
}

std::vector<SamplerOptionUse> adaptation_options(double target) {
  return {
      {.name = "adapt"},
      {.name = "target-acceptance", .initial = target, .least = 0, .most = 1, .above_least = true}};
}

const std::vector<std::pair<std::string, std::optional<double> SamplerOptions::*>>&
sampler_numbers() {
  static const std::vector<std::pair<std::string, std::optional<double> SamplerOptions::*>> table =
      {{"radius", &SamplerOptions::radius},
       {"tau", &SamplerOptions::tau},
       {"step-size", &SamplerOptions::step_size},
       {"block", &SamplerOptions::block},
       {"sigma", &SamplerOptions::sigma},
       {"alpha", &SamplerOptions::alpha},
       {"target-acceptance", &SamplerOptions::target_acceptance},
       {"leapfrog", &SamplerOptions::leapfrog},
       {"pull", &SamplerOptions::pull},
       {"group", &SamplerOptions::group},
       {"mass", &SamplerOptions::mass},
       {"damping", &SamplerOptions::damping}};
  return table;
}

const std::vector<std::pair<std::string, bool SamplerOptions::*>>& sampler_switches() {
  static const std::vector<std::pair<std::string, bool SamplerOptions::*>> table = {
      {"adapt", &SamplerOptions::adapt},
      {"unadjusted", &SamplerOptions::unadjusted},
      {"monotonic", &SamplerOptions::monotonic},
      {"always-accept", &SamplerOptions::always_accept},
      {"elastic-energy", &SamplerOptions::elastic_energy}};
  return table;
}

}  // namespace isinglass
