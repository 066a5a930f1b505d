// Lists the help texts of the sampler options.
#include "engine/sampler_options.h"

#include "engine/sampler.h"

namespace isinglass {

const std::vector<SamplerOptionText>& sampler_option_texts() {
  constexpr auto kNumber = SamplerOptionText::Kind::kNumber;
  constexpr auto kSwitch = SamplerOptionText::Kind::kSwitch;
  constexpr auto kChoice = SamplerOptionText::Kind::kChoice;
  static const std::vector<SamplerOptionText> texts = {
      {"radius", kNumber, "R",
       "mean number of sites that a proposal changes (default: the sampler's own, or the largest "
       "of the model); rwm with an even `radius` keeps the parity of the sum of binary sites"},
      {"tau", kNumber, "T", "time simulated by a jump (default: the sampler's own)"},
      {"step-size", kNumber, "A",
       "step size a of dlp, eta of continuous samplers (default: the sampler's own)"},
      {"block", kNumber, "M",
       "number of sites in a block (default: the sampler's own, or the largest of the model)"},
      {"sigma", kNumber, "S",
       "scale of an any-scale proposal; given together with `alpha`, both stay fixed (default: "
       "adapted in burn-in)"},
      {"alpha", kNumber, "A",
       "weight of the gradient in an any-scale proposal (default: adapted in burn-in)"},
      {"leapfrog", kNumber, "L", "leapfrog steps of a trajectory (default: the sampler's own)"},
      {"pull", kNumber, "LAMBDA",
       "strength with which fhl pulls particles towards their leader (default: the sampler's own)"},
      {"group", kNumber, "N",
       "number of particles that follow one leader; `chains` must be a multiple of it (default: "
       "the sampler's own)"},
      {"mass", kNumber, "M", "mass of the particles (default: the sampler's own)"},
      {"damping", kNumber, "GAMMA",
       "fraction of the momentum that a step keeps, below 1 (default: the sampler's own)"},
      {"always-accept", kSwitch, "", "leave out the Metropolis test of trajectories: not exact"},
      {"elastic-energy", kSwitch, "",
       "include the energy of the pull in the Metropolis test of fhl: not exact"},
      {"adapt", kSwitch, "",
       "adapt the step size (`radius`, `tau` or `step-size`) in burn-in; not for training and "
       "annealing, which have no burn-in"},
      {"target-acceptance", kNumber, "P",
       "mean acceptance that `adapt` aims at (default: the sampler's own)"},
      {"unadjusted", kSwitch, "", "leave out the Metropolis test: not exact"},
      {"monotonic", kSwitch, "", "learn a monotonic balancing function"},
      {"balancing", kChoice, "NAME", "balancing function", balancing_names()},
      {"scan", kChoice, "NAME",
       "order in which gibbs updates sites; chromatic (sparse graphs and rbm): one step updates "
       "all sites, those together that are conditionally independent",
       scan_names()},
  };
  return texts;
}

}  // namespace isinglass
