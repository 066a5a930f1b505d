// Implements the listing of samplers and models.
#include "cli/commands/listing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "engine/registry.h"
#include "engine/sampler.h"
#include "io/error.h"
#include "models/registry.h"

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;

Json options_json(const SamplerEntry& sampler) {
  Json options = Json::object();
  for (const SamplerOptionUse& use : sampler.options) {
    Json range = Json::object();
    if (use.most > use.least) {
      range = {
          {use.above_least ? "above" : "from", use.least}, {"to", use.most}, {"whole", use.whole}};
    }
    if (use.initial) range["default"] = *use.initial;
    if (use.on_base) range["on_base"] = true;
    options[use.name] = range;
  }
  return options;
}

// Returns the options of a sampler as text: "radius (1 to 65536, default 5), balancing". Leaves out
// those that only models on a base have.
std::string options_text(const SamplerEntry& sampler) {
  std::vector<std::string> texts;
  for (const SamplerOptionUse& use : sampler.options) {
    if (use.on_base) continue;
    std::string text = use.name;
    if (use.most > use.least) {
      text += fmt::format(" ({}{}{} to {}{})", use.whole ? "whole, " : "",
                          use.above_least ? "above " : "", use.least, use.most,
                          use.initial ? fmt::format(", default {}", *use.initial) : "");
    }
    texts.push_back(text);
  }
  return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "));
}

// Writes option names as flags. The registry marks them as error messages do (io/error.h).
std::string as_flags(const std::string& text) {
  return spell_options(text, "--");
}

}  // namespace

Json registry_json() {
  Json list = {{"samplers", Json::array()}, {"models", Json::array()}};
  for (const SamplerEntry& s : sampler_registry()) {
    list["samplers"].push_back({{"name", s.name},
                                {"summary", s.summary},
                                {"needs", s.needs},
                                {"states", kinds_text(s.kinds)},
                                {"options", options_json(s)},
                                {"paper", s.paper}});
  }
  for (const ModelEntry& m : model_registry()) {
    list["models"].push_back({{"name", m.name},
                              {"energy", as_flags(m.energy)},
                              {"states", as_flags(m.state_kinds)},
                              {"parameters", as_flags(m.parameters)},
                              {"gradient", m.gradient},
                              {"trainable", m.trainable()}});
  }
  return list;
}

std::string registry_text() {
  std::string text = "samplers\n";
  for (const SamplerEntry& s : sampler_registry()) {
    text += fmt::format("  {:<12} {} ({})\n{:15}states: {}; needs: {}; options: {}\n", s.name,
                        s.summary, s.paper, "", kinds_text(s.kinds), s.needs, options_text(s));
  }
  text += "  With a residual model, samplers of discrete states also read base-moves.\n\nmodels\n";
  for (const ModelEntry& m : model_registry()) {
    text += fmt::format("  {:<12} {}\n{:15}states: {}; parameters: {}{}{}\n", m.name,
                        as_flags(m.energy), "", as_flags(m.state_kinds), as_flags(m.parameters),
                        m.gradient ? "" : "; no gradient", m.trainable() ? "; can be trained" : "");
  }
  return text;
}

}  // namespace isinglass
