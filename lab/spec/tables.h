// Groups of fields that several specs share.
#pragma once

#include "lab/spec/field.h"

namespace isinglass {

Fields<ModelSpec> model_fields();         // model, weights, factors, sites, …
Field<ModelSpec> instance_field();        // a standard target
Field<ModelSpec> gradient_model_field();  // another model's gradient
Field<ModelSpec> gradient_precision_field();
Fields<NewModelSpec> new_model_fields();  // channels, hidden
// sampler and its options. `initial` is what the help calls the default; empty: it must be said.
Fields<SamplerSpec> sampler_fields(const std::string& initial = "");
Fields<DataSpec> data_fields();   // dataset, data-dir, levels
Fields<DataSpec> split_fields();  // validation, test
Option cuda_graph_option();
Option seed_option();

}  // namespace isinglass
