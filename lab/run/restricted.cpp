// Implements restricted states of runs.
#include "lab/run/restricted.h"

#include <filesystem>

#include "engine/annealing/at_temperature.h"
#include "models/bounds.h"
#include "train/data/formats/format.h"

namespace isinglass {

RestrictionOptions restriction_options(RestrictionSpec& spec, const Given& given) {
  const auto read = [](const torch::Tensor& own, std::filesystem::path& file, std::string& name) {
    if (own.defined() || file.empty()) return own;
    file = std::filesystem::absolute(file);
    name = file.string();
    return read_array(file);
  };
  RestrictionOptions options;
  options.fixed = read(given.fixed, spec.fixed, options.fixed_name);
  options.allowed = read(given.allowed, spec.allowed, options.allowed_name);
  options.reference = read(given.reference, spec.reference, options.reference_name);
  options.within = spec.within;
  return options;
}

namespace {

void check_fixed_values(const Bounds& bounds, const Restriction& restriction,
                        const EnergyModel& part, torch::Device device) {
  const torch::Tensor free = torch::full({restriction.rows(), part.space().sites}, bounds.low,
                                         torch::TensorOptions(torch::kFloat32).device(device));
  require_within(bounds, restriction.complete(free), "the values of fixed sites");
}

}  // namespace

std::shared_ptr<EnergyModel> restricted(std::shared_ptr<EnergyModel> model,
                                        const Restriction& restriction, torch::Device device,
                                        bool lasting) {
  EnergyModel& whole = at_temperature_one(*model);
  const bool cooled = &whole != model.get();
  const auto original =
      cooled ? std::dynamic_pointer_cast<EnergyModel>(whole.shared_from_this()) : model;
  const std::shared_ptr<EnergyModel> part = restriction.restrict_model(original, lasting);
  if (const auto bounds = bounds_of(*part)) {
    check_fixed_values(*bounds, restriction, *part, device);
  }
  if (!cooled) return part;
  return std::make_shared<AtTemperature>(part, temperature_of(*model), device);
}

}  // namespace isinglass
