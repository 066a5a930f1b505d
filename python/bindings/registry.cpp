// Exposes the registries and the tables of options, from which Python makes signatures, docstrings
// and stubs.
#include "engine/registry.h"

#include <torch/csrc/utils/pybind.h>

#include "lab/identity.h"
#include "lab/spec/field.h"
#include "models/instances/instances.h"
#include "models/near_name.h"
#include "models/registry.h"
#include "python/bindings/values.h"

namespace isinglass::python {
namespace {

using Json = nlohmann::ordered_json;

Json number_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

Json table_json(const OptionTable& table) {
  static const char* const types[] = {"bool", "int", "float", "str", "path"};
  static const char* const topics[] = {"model", "sampler", "run",    "training",
                                       "data",  "output",  "program"};
  Json all = Json::array();
  for (const Option& option : table) {
    Json json = {{"name", option.name},
                 {"python", python_name(option.name)},
                 {"type", types[static_cast<int>(option.type)]},
                 {"topic", topics[static_cast<int>(option.topic)]},
                 {"unit", option.unit},
                 {"help", option.help},
                 {"minimum", number_or_null(option.minimum)},
                 {"maximum", number_or_null(option.maximum)},
                 {"above_minimum", option.above_minimum},
                 {"choices", option.choices},
                 {"default", nullptr}};
    if (option.initial) std::visit([&](const auto& v) { json["default"] = v; }, *option.initial);
    all.push_back(std::move(json));
  }
  return all;
}

Json samplers_json() {
  Json all = Json::array();
  for (const SamplerEntry& entry : sampler_registry()) {
    Json options = Json::array();
    for (const SamplerOptionUse& use : entry.options) {
      Json option = {{"name", use.name}, {"python", python_name(use.name)}, {"default", nullptr}};
      if (use.most > use.least) {
        option.update({{"minimum", use.least},
                       {"maximum", use.most},
                       {"above_minimum", use.above_least},
                       {"whole", use.whole}});
      }
      if (use.initial) option["default"] = *use.initial;
      options.push_back(std::move(option));
    }
    all.push_back({{"name", entry.name},
                   {"summary", entry.summary},
                   {"states", kinds_text(entry.kinds)},
                   {"needs", entry.needs},
                   {"paper", entry.paper},
                   {"options", options}});
  }
  return all;
}

Json models_json() {
  Json all = Json::array();
  for (const ModelEntry& entry : model_registry()) {
    all.push_back({{"name", entry.name},
                   {"energy", entry.energy},
                   {"parameters", entry.parameters},
                   {"states", entry.state_kinds},
                   {"gradient", entry.gradient},
                   {"trainable", entry.trainable()},
                   {"any_continuous", entry.any_continuous}});
  }
  return all;
}

}  // namespace

// Adds tables(): {sample: [option, …], train: …, evaluate: …, ablate: …, target: …, samplers: …,
// models: …}.
void add_registry(py::module_& module) {
  module.def("tables", [] {
    return object_of({{"sample", table_json(options_of<SampleSpec>())},
                      {"train", table_json(options_of<TrainSpec>())},
                      {"evaluate", table_json(options_of<EvaluateSpec>())},
                      {"ablate", table_json(options_of<GridSpec>())},
                      {"target", table_json(options_of<EnergySpec>())},
                      {"samplers", samplers_json()},
                      {"models", models_json()},
                      {"instances", instance_names()}});
  });
  module.attr("__version__") = kProgramVersion;
  module.def("revision", &program_revision);
  module.def("near_name", &near_name);
}

}  // namespace isinglass::python
