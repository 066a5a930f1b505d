// Standard instances: the target distributions of the papers' figures and tables, built by name
// from a seed, without a file. Random parameters come from Philox (purpose kInstance), so that an
// instance is the same on every machine.
//
//   NAME[:KEY=X[,KEY=X…]], for example ising-field:side=50,mu=2,width=3
//
// docs/reference/instances.md lists the distribution and the source of each instance. The energies
// are those of the models that it makes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "models/energy_model.h"

namespace isinglass {

// Gives access to the data set for instances that are made of images. It is read only when such an
// instance is made.
struct ImageSource {
  std::function<torch::Tensor()> pixels = {};  // float32 [N, D], from 0 to 1
  std::function<torch::Tensor()> labels = {};  // int64 [N]
};

// Makes the instance. Throws Error naming an unknown instance or key (with the known ones), a
// number out of range, or an instance that needs images and is given none.
std::shared_ptr<EnergyModel> make_instance(const std::string& text, const ImageSource& images = {});

// Returns about how many bytes make_instance() needs; 0 if they are few. Throws the Errors of
// check_instance().
double instance_bytes(const std::string& text);

// Returns true if the part before the colon is the name of an instance.
bool names_instance(const std::string& text);

// Throws the Errors that make_instance() would throw, except those about images.
void check_instance(const std::string& text);

// Returns "bernoulli, categorical, …", for messages and help.
std::string instance_names();

}  // namespace isinglass
