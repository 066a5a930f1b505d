// Implements the table of options, and the descriptions of options that families share.
#include "engine/options.h"

namespace isinglass {
namespace {

// Buffers of a path have 2R − 1 moves per chain, which bounds the radius R.
constexpr double kLargestRadius = 65536;
constexpr double kMostBaseMoves = 16;

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

SamplerOptionUse base_moves_option() {
  return {.name = "base-moves",
          .initial = 1,
          .least = 0,
          .most = kMostBaseMoves,
          .whole = true,
          .on_base = true};
}

const std::vector<SamplerOption>& sampler_options() {
  static const std::vector<SamplerOption> all = {
      {.name = "radius",
       .number = &SamplerOptions::radius,
       .unit = "R",
       .help =
           "mean number of sites that a proposal changes (default: the sampler's own, or the "
           "largest "
           "of the model); rwm with an even `radius` keeps the parity of the sum of binary sites"},
      {.name = "tau",
       .number = &SamplerOptions::tau,
       .unit = "T",
       .help = "time simulated by a jump (default: the sampler's own)"},
      {.name = "step-size",
       .number = &SamplerOptions::step_size,
       .unit = "A",
       .help = "step size a of dlp, eta of continuous samplers (default: the sampler's own)"},
      {.name = "block",
       .number = &SamplerOptions::block,
       .unit = "M",
       .help =
           "number of sites in a block (default: the sampler's own, or the largest of the model)"},
      {.name = "sigma",
       .number = &SamplerOptions::sigma,
       .unit = "S",
       .help =
           "scale of an any-scale proposal; given together with `alpha`, both stay fixed (default: "
           "adapted in burn-in)"},
      {.name = "alpha",
       .number = &SamplerOptions::alpha,
       .unit = "A",
       .help = "weight of the gradient in an any-scale proposal (default: adapted in burn-in)"},
      {.name = "adapt",
       .flag = &SamplerOptions::adapt,
       .help =
           "adapt the step size (`radius`, `tau` or `step-size`) in burn-in, or in training from "
           "iteration to iteration; not for annealing, which has no burn-in"},
      {.name = "target-acceptance",
       .number = &SamplerOptions::target_acceptance,
       .unit = "P",
       .help = "mean acceptance that `adapt` aims at (default: the sampler's own)"},
      {.name = "leapfrog",
       .number = &SamplerOptions::leapfrog,
       .unit = "L",
       .help = "leapfrog steps of a trajectory (default: the sampler's own)"},
      {.name = "pull",
       .number = &SamplerOptions::pull,
       .unit = "LAMBDA",
       .help = "strength with which fhl pulls particles towards their leader (default: the "
               "sampler's own)"},
      {.name = "group",
       .number = &SamplerOptions::group,
       .unit = "N",
       .help = "number of particles that follow one leader, or of chains that exchange clusters; "
               "`chains` must be a multiple of it (default: the sampler's own)"},
      {.name = "mass",
       .number = &SamplerOptions::mass,
       .unit = "M",
       .help = "mass of the particles (default: the sampler's own)"},
      {.name = "damping",
       .number = &SamplerOptions::damping,
       .unit = "GAMMA",
       .help = "fraction of the momentum that a step keeps, below 1 (default: the sampler's own)"},
      {.name = "sweeps",
       .number = &SamplerOptions::sweeps,
       .unit = "K",
       .help = "sweeps of the base in a surrogate transition (default: 1)"},
      {.name = "base-moves",
       .number = &SamplerOptions::base_moves,
       .unit = "N",
       .help =
           "number of surrogate transitions, which move by the base of a residual model, before "
           "each step of the sampler (default: 1)"},
      {.name = "unadjusted",
       .flag = &SamplerOptions::unadjusted,
       .help = "leave out the Metropolis test: not exact"},
      {.name = "monotonic",
       .flag = &SamplerOptions::monotonic,
       .help = "learn a monotonic balancing function"},
      {.name = "always-accept",
       .flag = &SamplerOptions::always_accept,
       .help = "leave out the Metropolis test of trajectories: not exact"},
      {.name = "elastic-energy",
       .flag = &SamplerOptions::elastic_energy,
       .help = "include the energy of the pull in the Metropolis test of fhl: not exact"},
      {.name = "balancing",
       .unit = "NAME",
       .help = "balancing function",
       .choices = balancing_names()},
      {.name = "scan",
       .unit = "NAME",
       .help = "order in which gibbs updates sites; chromatic (sparse graphs and rbm): one step "
               "updates "
               "all sites, those together that are conditionally independent",
       .choices = scan_names()},
  };
  return all;
}

}  // namespace isinglass
