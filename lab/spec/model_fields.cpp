// Defines the options of models, samplers and data.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "engine/options.h"
#include "engine/registry.h"
#include "engine/sampler.h"
#include "io/error.h"
#include "lab/spec/tables.h"
#include "models/instances/instances.h"
#include "train/data/dataset.h"
#include "train/data/formats/format.h"

namespace isinglass {

Fields<ModelSpec> model_fields() {
  return {
      field(&ModelSpec::name,
            {.name = "model",
             .unit = "NAME",
             .help = "name of the model, which defines the energy; sample `list` shows all"}),
      field(&ModelSpec::weights,
            {.name = "weights",
             .unit = "FILE",
             .help = "the model's parameters (.pt); the file of a script model is a program that "
                     "is executed: load only files that you trust"}),
      field(&ModelSpec::factors,
            {.name = "factors",
             .unit = "NAME=FILE,...",
             .help = "models and parameter files of a product, which adds up their energies"}),
      field(&ModelSpec::sites,
            {.name = "sites",
             .unit = "D",
             .help = "number of sites, for a model whose file does not determine it",
             .minimum = 1}),
      field(&ModelSpec::categories,
            {.name = "categories",
             .unit = "K",
             .help = "number of values of a site, for a model whose file does not determine it",
             .minimum = 2,
             .maximum = 256}),
      field(&ModelSpec::penalty,
            {.name = "penalty",
             .unit = "P",
             .help = "energy added by each violated constraint of mis and maxclique; above 1, "
                     "local minima violate none (default: 1.5)",
             .minimum = 0,
             .above_minimum = true}),
      field(
          &ModelSpec::label,
          {.name = "class",
           .unit = "Y",
           .help =
               "class Y of an mlp or script that is a classifier f, whose energy is then -f(x)[Y]",
           .minimum = 0}),
      field(&ModelSpec::image, {.name = "image",
                                .unit = "HxW",
                                .help = "height and width in pixels",
                                .initial = text_of(ImageSize())}),
  };
}

Field<ModelSpec> instance_field() {
  return field(&ModelSpec::instance,
               {.name = "instance",
                .unit = "NAME:KEY=X,…",
                .help = "name of a standard target, in place of `model` and `weights`: " +
                        instance_names()});
}

Field<ModelSpec> bounds_field() {
  return field(&ModelSpec::bounds,
               {.name = "bounds",
                .unit = "LOW,HIGH",
                .help = "keep continuous states within an interval, such as 0,1: chains are "
                        "reflected at its ends, and the distribution is exp(-U) inside (default: "
                        "the real line)"});
}

Field<ModelSpec> temperature_field() {
  return field(&ModelSpec::temperature,
               {.name = "temperature",
                .unit = "T",
                .help = "temperature of the target, which is exp(-U / T) (default: 1)",
                .minimum = 0,
                .above_minimum = true});
}

Field<ModelSpec> gradient_model_field() {
  return field(&ModelSpec::gradient_model, {.name = "gradient-model",
                                            .unit = "NAME=FILE",
                                            .help = "another model, whose gradient the proposals "
                                                    "use; acceptance uses the energy of `model`"});
}

Field<ModelSpec> gradient_precision_field() {
  return field(&ModelSpec::gradient_precision,
               {.name = "gradient-precision",
                .unit = "TYPE",
                .help = "precision of the gradients that proposals use; energies are not affected. "
                        "bf16: resnet only; auto: bf16 on GPUs with instructions for it (compute "
                        "capability 8.0 or higher), else float32",
                .choices = {"auto", "float32", "bf16"}});
}

Fields<NewModelSpec> new_model_fields() {
  const NewModelOptions model;
  return {field(&NewModelSpec::channels, {.name = "channels",
                                          .unit = "C",
                                          .help = "channels of a new resnet",
                                          .initial = model.channels,
                                          .minimum = 1}),
          field(&NewModelSpec::hidden, {.name = "hidden",
                                        .unit = "H",
                                        .help = "hidden units of a new rbm",
                                        .initial = model.hidden,
                                        .minimum = 1})};
}

namespace {

// Sets the option's range to the union over all samplers that read it, so that a value refused here
// is invalid for every sampler.
void set_range(Option& option) {
  bool found = false;
  for (const SamplerEntry& entry : sampler_registry()) {
    const SamplerOptionUse* use = entry.option(option.name);
    if (!use) continue;
    const bool lower = !found || use->least < option.minimum;
    if (lower || use->least == option.minimum) {
      option.above_minimum = use->above_least && (lower || option.above_minimum);
    }
    option.minimum = found ? std::min(option.minimum, use->least) : use->least;
    option.maximum = found ? std::max(option.maximum, use->most) : use->most;
    found = true;
  }
}

Option option_of(const SamplerOption& known) {
  Option option{
      .name = known.name, .unit = known.unit, .help = known.help, .choices = known.choices};
  if (known.number) {
    option.type = ValueType::kReal;
    set_range(option);
  } else if (known.flag) {
    option.type = ValueType::kSwitch;
    option.initial = false;
  } else {
    option.initial = known.choices.front();
  }
  return option;
}

// Returns the field of an option in the registry, which the spec keeps by name.
Field<SamplerSpec> registered(const SamplerOption& known) {
  const std::string name = known.name;
  return {option_of(known),
          [name](SamplerSpec& spec, const OptionValue& value) { spec.options[name] = value; },
          [name](const SamplerSpec& spec) {
            const auto found = spec.options.find(name);
            return found == spec.options.end() ? std::nullopt : std::optional(found->second);
          }};
}

}  // namespace

Fields<SamplerSpec> sampler_fields(const std::string& initial) {
  Option name{
      .name = "sampler", .unit = "NAME", .help = "name of the sampler; sample `list` shows all"};
  if (initial.empty()) {
    name.help +=
        " (default: gibbs with `scan` chromatic for lattices and rbm, unless another sampler's "
        "option is given; else pafs, or gibbs for a model without a gradient; hmc for continuous "
        "states, lb for permutations)";
  } else {
    name.initial = initial;
  }
  Fields<SamplerSpec> all = {field(&SamplerSpec::name, name)};
  for (const SamplerOption& known : sampler_options()) all.push_back(registered(known));
  return all;
}

Fields<DataSpec> data_fields() {
  return {field(&DataSpec::name, {.name = "dataset",
                                  .unit = "NAME",
                                  .help = "name of a data set, or a file: " + readable_formats(),
                                  .names = dataset_names()}),
          field(&DataSpec::directory,
                {.name = "data-dir",
                 .unit = "DIR",
                 .help = "folder of the data sets (default: $ISINGLASS_DATA, else ./data)",
                 .adjustable = true}),
          field(&DataSpec::levels, {.name = "levels",
                                    .unit = "K",
                                    .help = "read the pixels of a file as categories 0 to K - 1 "
                                            "instead of grey levels that are binarised",
                                    .minimum = 2,
                                    .maximum = 256})};
}

Fields<DataSpec> split_fields() {
  return {
      field(&DataSpec::validation, {.name = "validation",
                                    .unit = "FILE",
                                    .help = "file of validation images, for a `dataset` that is a "
                                            "file of training images only"}),
      field(
          &DataSpec::test,
          {.name = "test",
           .unit = "FILE",
           .help = "file of test images, for a `dataset` that is a file of training images only"})};
}

Option cuda_graph_option() {
  return {.name = "cuda-graph",
          .help =
              "on a GPU, capture the sampler's step in a CUDA graph once and replay it, if sampler "
              "and model allow it",
          .initial = true,
          .adjustable = true};
}

Option seed_option() {
  return {.name = "seed", .unit = "S", .help = "seed of all random numbers", .minimum = 0};
}

}  // namespace isinglass
