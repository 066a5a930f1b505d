// Implements restricted states of runs.
#include "lab/run/restricted.h"

#include <filesystem>

#include "engine/annealing/at_temperature.h"
#include "io/pt/pt_file.h"

namespace isinglass {

RestrictionOptions restriction_options(RestrictionSpec& spec, const Given& given) {
  const auto read = [](const torch::Tensor& own, std::filesystem::path& file, std::string& name) {
    if (own.defined() || file.empty()) return own;
    file = std::filesystem::absolute(file);
    name = file.string();
    return read_tensor(file);
  };
  RestrictionOptions options;
  options.fixed = read(given.fixed, spec.fixed, options.fixed_name);
  options.allowed = read(given.allowed, spec.allowed, options.allowed_name);
  options.reference = read(given.reference, spec.reference, options.reference_name);
  options.within = spec.within;
  return options;
}

std::shared_ptr<EnergyModel> restricted(std::shared_ptr<EnergyModel> model,
                                        const Restriction& restriction, torch::Device device,
                                        bool lasting) {
  EnergyModel& whole = at_temperature_one(*model);
  if (&whole == model.get()) return restriction.restrict_model(std::move(model), lasting);
  const auto original = std::dynamic_pointer_cast<EnergyModel>(whole.shared_from_this());
  return std::make_shared<AtTemperature>(restriction.restrict_model(original, lasting),
                                         temperature_of(*model), device);
}

}  // namespace isinglass
