// Declares groups of fields that several specs share.
#pragma once

#include "lab/spec/field.h"

namespace isinglass {

Fields<ModelSpec> model_fields();         // model, weights, factors, sites, …
Field<ModelSpec> instance_field();        // a standard target
Field<ModelSpec> gradient_model_field();  // another model's gradient
Field<ModelSpec> gradient_precision_field();
Fields<NewModelSpec> new_model_fields();  // channels, hidden
// Returns the sampler and its options. `initial` is the default shown in the help; empty: the
// sampler is required.
Fields<SamplerSpec> sampler_fields(const std::string& initial = "");
Fields<DataSpec> data_fields();   // dataset, data-dir, levels
Fields<DataSpec> split_fields();  // validation, test
Option cuda_graph_option();
Option seed_option();

}  // namespace isinglass
