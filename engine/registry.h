// The registry of samplers: a sampler's name, what it needs and reads, and how it is made.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/options.h"
#include "engine/sampler.h"

namespace isinglass {

struct SamplerEntry {
  std::string name;
  std::string summary;  // one line
  std::string paper;
  std::string needs;             // e.g. "gradient", "nothing", "differences", "conditionals …"
  std::vector<StateKind> kinds;  // the kinds of states that it samples
  std::vector<SamplerOptionUse> options;
  bool gradient;  // true if it needs a differentiable model
  std::function<std::unique_ptr<Sampler>(const SamplerOptions&, const EnergyModel&)> make;
  // Makes the sampler of its own that a lattice has; it returns null for models that do not allow
  // it. Null: there is no such sampler.
  std::function<std::unique_ptr<Sampler>(const SamplerOptions&, const EnergyModel&)>
      make_on_lattice = nullptr;
  // Throws Error if options and model do not fit each other. Null: every combination fits.
  std::function<void(const SamplerOptions&, const EnergyModel&)> check = nullptr;
  // The largest number of float64 [D, D] matrices that the sampler holds at once.
  int64_t site_matrices = 0;
  bool on_base = false;     // true if it needs a model with a base (models/on_base.h)
  bool on_lattice = false;  // true if it needs a model on a lattice (HasLocalSteps)
  // True if chains exchange parts of their states. Statistics over a chain's steps then say nothing
  // about the independence of draws, so that only searches (annealing) use the sampler.
  bool exchanges = false;

  // Returns null if the sampler does not read the option.
  const SamplerOptionUse* option(const std::string& option) const;
  bool fits(const EnergyModel& model) const;
};

const std::vector<SamplerEntry>& sampler_registry();

// Returns the names of an entry's options for messages, e.g. "radius, balancing".
std::string option_names(const SamplerEntry& entry);

// Returns the entry of that name. Throws Error, which lists the known names with the nearest first,
// if there is none.
const SamplerEntry& find_sampler(const std::string& name);

// Fills in the sampler's defaults for options that are not given, lowered to what the model allows.
// Throws Error for options that the sampler does not read, and for numbers out of its range.
SamplerOptions with_defaults(const SamplerEntry& entry, SamplerOptions options,
                             const EnergyModel& model);

// Checks the options against the sampler and the model, and builds the sampler. Throws Error that
// says what does not fit, and for a model that does not fit also which samplers would work.
std::unique_ptr<Sampler> make_sampler(const std::string& name, const SamplerOptions& options,
                                      const EnergyModel& model);

// Returns the names of state kinds for tables and messages, e.g. "binary, categorical".
std::string kinds_text(const std::vector<StateKind>& kinds);

}  // namespace isinglass
