// Samplers by name: what each is, needs and reads, and how to make it.
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
  std::string needs;             // "gradient", "nothing", "differences", "conditionals …"
  std::vector<StateKind> kinds;  // states it works on
  std::vector<SamplerOptionUse> options;
  bool gradient;  // works on differentiable models only
  std::function<std::unique_ptr<Sampler>(const SamplerOptions&, const EnergyModel&)> make;
  // Throws Error if options and model do not fit each other; null: all do.
  std::function<void(const SamplerOptions&, const EnergyModel&)> check = nullptr;
  int64_t site_matrices = 0;  // float64 [D, D] that it holds at once

  const SamplerOptionUse* option(const std::string& option) const;  // null: not read
  bool fits(const EnergyModel& model) const;
};

const std::vector<SamplerEntry>& sampler_registry();

// "radius, balancing": for messages.
std::string option_names(const SamplerEntry& entry);

// The entry, or an Error that lists the known names, the nearest first.
const SamplerEntry& find_sampler(const std::string& name);

// The options with the sampler's defaults where nothing is said, cut to what the model allows.
// Throws Error for options that the sampler does not read, or numbers out of its range.
SamplerOptions with_defaults(const SamplerEntry& entry, SamplerOptions options,
                             const EnergyModel& model);

// Checks the options against the sampler and the model (Error: what does not fit, and which
// samplers would work) and builds it.
std::unique_ptr<Sampler> make_sampler(const std::string& name, const SamplerOptions& options,
                                      const EnergyModel& model);

// "binary, categorical": for tables and messages.
std::string kinds_text(const std::vector<StateKind>& kinds);

}  // namespace isinglass
