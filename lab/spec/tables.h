// Declares groups of fields that several specs share.
#pragma once

#include "lab/spec/field.h"

namespace isinglass {

Fields<ModelSpec> model_fields();         // Returns model, weights, factors, sites, …
Field<ModelSpec> bounds_field();          // Returns the interval of continuous states.
Field<ModelSpec> temperature_field();     // Returns the temperature of the target.
Field<ModelSpec> instance_field();        // Returns the option for a standard target.
Field<ModelSpec> gradient_model_field();  // Returns the option for another model's gradient.
Field<ModelSpec> gradient_precision_field();
Fields<NewModelSpec> new_model_fields();  // Returns channels and hidden.
// Returns the sampler and its options. `initial` is the default shown in the help; empty: it
// depends on the model (name_sampler() in lab/run/assemble.h).
Fields<SamplerSpec> sampler_fields(const std::string& initial = "");
Fields<DataSpec> data_fields();   // Returns dataset, data-dir and levels.
Fields<DataSpec> split_fields();  // Returns validation and test.
Option cuda_graph_option();
Option seed_option();

}  // namespace isinglass
