// Standard instances: the targets of the papers' figures and tables, built by name from a seed, no
// file needed. Random parameters come from Philox (purpose kInstance), so that an instance is the
// same everywhere.
//
//   NAME[:KEY=X[,KEY=X…]], such as ising-field:side=50,mu=2,width=3
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "models/energy_model.h"

namespace isinglass {

// The data set of an instance that is made of images; read only where one is.
struct ImageSource {
  std::function<torch::Tensor()> pixels = {};  // float32 [N, D], from 0 to 1
  std::function<torch::Tensor()> labels = {};  // int64 [N]
};

// Throws Error naming an unknown instance or key (with the known ones), a number out of range, or
// an instance that needs images and is given none.
std::shared_ptr<EnergyModel> make_instance(const std::string& text, const ImageSource& images = {});

// Whether the part before a colon is the name of one.
bool names_instance(const std::string& text);

// The same Errors, but those of the images.
void check_instance(const std::string& text);

// "bernoulli, categorical, …": for messages and help.
std::string instance_names();

}  // namespace isinglass
