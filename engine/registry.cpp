// Implements the registry of samplers, from which listings, checks and the documentation are made.
// The sources of the families listed in samplers/list.inc hold the entries.
#include "engine/registry.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "engine/samplers/base_moves.h"
#include "engine/samplers/lattice_path.h"
#include "io/error.h"
#include "models/on_base.h"
#include "models/registry.h"

namespace isinglass {
namespace {

std::string names_that_work(const EnergyModel& model) {
  std::string names;
  for (const SamplerEntry& entry : sampler_registry()) {
    if (entry.fits(model)) names += (names.empty() ? "" : ", ") + entry.name;
  }
  return names.empty() ? "none" : names;
}

void check_number(const SamplerEntry& entry, const SamplerOptionUse& use, double value) {
  const bool low = use.above_least ? value <= use.least : value < use.least;
  require_option(std::isfinite(value) && !low && value <= use.most, use.name.c_str(), value,
                 "{} takes {} {} to {}", entry.name, use.above_least ? "above" : "from", use.least,
                 use.most);
  require_option(!use.whole || value == std::floor(value), use.name.c_str(), value,
                 "{} takes a whole number", entry.name);
}

// Returns the default of an option, lowered to the model's largest value where that is less.
std::optional<double> default_of(const SamplerOptionUse& use, const SamplerOptions& options,
                                 const EnergyModel& model) {
  if (!use.initial || !use.largest) return use.initial;
  return std::max(use.least, std::min(*use.initial, use.largest(options, model)));
}

}  // namespace

SamplerOptions with_defaults(const SamplerEntry& entry, SamplerOptions options,
                             const EnergyModel& model) {
  for (const SamplerOption& option : sampler_options()) {
    const SamplerOptionUse* use = entry.option(option.name);
    const bool given =
        option.number ? (options.*option.number).has_value() : option.flag && options.*option.flag;
    require_options(use || !given, "{} does not read `{}`; it reads {}", entry.name, option.name,
                    option_names(entry));
    if (!use || !option.number) continue;
    std::optional<double>& value = options.*option.number;
    if (use->on_base && !on_base(model)) {
      require_options(!value || *value == 0,
                      "`{}` is {}, but {} has no base; a residual model has one", option.name,
                      *value, model.title());
      value.reset();
      continue;
    }
    if (!value) value = default_of(*use, options, model);
    if (value) check_number(entry, *use, *value);
  }
  return options;
}

namespace {

PtDict settings_of(const SamplerEntry& entry, const SamplerOptions& options) {
  PtDict settings;
  for (const SamplerOption& option : sampler_options()) {
    const bool used = option.name != "target-acceptance" || options.adapt;
    if (!used || !option.number || !(options.*option.number)) continue;
    settings.push_back({option.name, PtValue{*(options.*option.number)}});
  }
  for (const SamplerOption& option : sampler_options()) {
    if (option.flag && entry.option(option.name)) {
      settings.push_back({option.name, PtValue{options.*option.flag}});
    }
  }
  if (entry.option("balancing")) {
    const auto index = static_cast<size_t>(options.balancing);
    settings.push_back({"balancing", PtValue{balancing_names()[index]}});
  }
  if (entry.option("scan")) {
    settings.push_back({"scan", PtValue{scan_names()[static_cast<size_t>(options.scan)]}});
  }
  return settings;
}

}  // namespace

const SamplerOptionUse* SamplerEntry::option(const std::string& option) const {
  for (const SamplerOptionUse& use : options) {
    if (use.name == option) return &use;
  }
  return nullptr;
}

bool SamplerEntry::fits(const EnergyModel& model) const {
  return std::find(kinds.begin(), kinds.end(), model.space().kind) != kinds.end() &&
         (!gradient || model.differentiable()) && (!on_base || isinglass::on_base(model)) &&
         (!on_lattice || local_steps_of(model));
}

std::string option_names(const SamplerEntry& entry) {
  std::string names;
  for (const SamplerOptionUse& use : entry.options) names += (names.empty() ? "" : ", ") + use.name;
  return names.empty() ? "no options" : names;
}

#define ISINGLASS_SAMPLERS(family) std::vector<SamplerEntry> family();
#include "engine/samplers/list.inc"
#undef ISINGLASS_SAMPLERS

namespace {

// Returns true if moves by a base can come between the sampler's steps. Bases have discrete states,
// surrogate transitions are such moves themselves, and a lattice has no base.
bool makes_base_moves(const SamplerEntry& entry) {
  return !entry.on_base && !entry.on_lattice &&
         std::find(entry.kinds.begin(), entry.kinds.end(), StateKind::kBinary) != entry.kinds.end();
}

}  // namespace

const std::vector<SamplerEntry>& sampler_registry() {
  static const std::vector<SamplerEntry> all = [] {
    std::vector<SamplerEntry> entries;
#define ISINGLASS_SAMPLERS(family) \
  for (SamplerEntry & entry : family()) entries.push_back(std::move(entry));
#include "engine/samplers/list.inc"
#undef ISINGLASS_SAMPLERS
    for (SamplerEntry& entry : entries) {
      if (makes_base_moves(entry)) entry.options.push_back(base_moves_option());
    }
    return entries;
  }();
  return all;
}

const SamplerEntry& find_sampler(const std::string& name) {
  std::vector<std::string> names;
  for (const SamplerEntry& entry : sampler_registry()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  fail("unknown sampler '{}'; known: {}", name, fmt::join(nearest_first(name, names), ", "));
}

namespace {

// Makes the sampler with resolved options that fit the model.
std::unique_ptr<Sampler> build(const SamplerEntry& entry, const SamplerOptions& options,
                               const EnergyModel& model) {
  const auto finished = [&](std::unique_ptr<Sampler> sampler) {
    if (options.adapt) sampler->adapt_to(*options.target_acceptance);
    const auto remake = [&entry, options](const EnergyModel& other) {
      return build(entry, options, other);
    };
    sampler->set_identity(entry.name, settings_of(entry, options),
                          entry.make_on_lattice ? Sampler::Remake(remake) : nullptr);
    return sampler;
  };
  std::unique_ptr<Sampler> sampler;
  if (entry.make_on_lattice) sampler = entry.make_on_lattice(options, model);
  sampler = finished(sampler ? std::move(sampler) : entry.make(options, model));
  const auto moves = static_cast<int64_t>(options.base_moves.value_or(0));
  if (moves == 0) return sampler;
  return finished(std::make_unique<BaseMovesSampler>(std::move(sampler), moves));
}

}  // namespace

std::unique_ptr<Sampler> make_sampler(const std::string& name, const SamplerOptions& options,
                                      const EnergyModel& model) {
  const SamplerEntry& entry = find_sampler(name);
  require(entry.fits(model), "sampler {} does not fit model {}; these do: {}", name,
          model.kind_name(), names_that_work(model));
  const SamplerOptions all = with_defaults(entry, options, model);
  if (entry.check) entry.check(all, model);
  return build(entry, all, model);
}

std::string kinds_text(const std::vector<StateKind>& kinds) {
  static const char* const names[] = {"binary", "categorical", "ordered", "continuous",
                                      "permutation"};
  std::string text;
  for (const StateKind kind : kinds) {
    text += (text.empty() ? "" : ", ") + std::string(names[static_cast<int>(kind)]);
  }
  return text;
}

}  // namespace isinglass
