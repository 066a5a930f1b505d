// Implements the recognition of trained models.
#include "lab/run/trained_model.h"

#include <algorithm>

#include "io/error.h"
#include "lab/spec/field.h"
#include "lab/toml.h"
#include "models/registry.h"

namespace isinglass {

ModelSpec as_trained(ModelSpec model) {
  if (model.weights.empty() || !model.instance.empty()) return model;
  const std::filesystem::path config =
      std::filesystem::absolute(model.weights).parent_path() / "config.toml";
  if (model.name.empty()) {
    const auto name = configured_text(config, "model");
    require_options(name.has_value(),
                    "`model` is needed, because `weights` {} is not in a run directory",
                    model.weights.string());
    const auto& known = model_registry();
    require(std::any_of(known.begin(), known.end(),
                        [&](const ModelEntry& entry) { return entry.name == *name; }),
            "the model '{}' of {} is a program's own and known in Python only, where "
            "isinglass.energy makes a target from it once its weights are loaded",
            *name, config.string());
    model.name = *name;
  }
  const auto image = configured_text(config, "image"), bounds = configured_text(config, "bounds");
  if (!model.image && image) model.image = image_size(*image, config.string() + ": image");
  if (!model.bounds && bounds) read_text(*bounds, "bounds", model.bounds.emplace());
  return model;
}

}  // namespace isinglass
