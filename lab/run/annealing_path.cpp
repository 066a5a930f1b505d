// Implements the choice of the annealing path.
#include "lab/run/annealing_path.h"

#include "io/error.h"
#include "lab/run/assemble.h"
#include "models/network/rbm.h"

namespace isinglass {
namespace {

constexpr const char* kJointName = "joint";

bool is_rbm(const EnergyModel& model) {
  return dynamic_cast<const RbmModel*>(&model) != nullptr;
}

bool sweeps(const SamplerSpec& sampler) {
  const auto scan = sampler.options.find("scan");
  return sampler.name == "gibbs" && scan != sampler.options.end() &&
         scan->second == OptionValue("chromatic");
}

}  // namespace

const std::vector<std::string>& path_names() {
  static const std::vector<std::string> names = {"linear", kJointName};
  return names;
}

PathKind path_for(const SamplerSpec& sampler, const EnergyModel& model) {
  return is_rbm(model) && sweeps(sampler) ? PathKind::kJoint : PathKind::kLinear;
}

void resolve_path(EvaluateSpec& spec, const EnergyModel& model) {
  SamplerSpec& sampler = spec.sampler;
  const bool joint = spec.path == kJointName;
  require_options(!joint || is_rbm(model),
                  "`path` joint scales the weights of an rbm, but {} is not an rbm", model.title());
  name_sampler(sampler, model,
               is_rbm(model) ? joint || spec.path.empty() : model.as_lattice() && model.sweeps());
  const PathKind own = path_for(sampler, model);
  if (spec.path.empty()) spec.path = path_names()[static_cast<size_t>(own)];
  require_options(
      !joint || own == PathKind::kJoint,
      "`path` joint needs `sampler` gibbs with `scan` chromatic; {} needs `path` linear",
      sampler.name);
  require_options(own != PathKind::kJoint || spec.path == kJointName,
                  "`scan` chromatic of an rbm needs `path` joint; along `path` {} there are no "
                  "block Gibbs sweeps",
                  spec.path);
}

}  // namespace isinglass
