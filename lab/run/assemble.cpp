// Implements the making of models, samplers and data from specs.
#include "lab/run/assemble.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "engine/annealing/at_temperature.h"
#include "engine/registry.h"
#include "io/error.h"
#include "lab/run/memory.h"
#include "models/combined/bounded.h"
#include "models/combined/gradient_override.h"
#include "models/instances/instances.h"

namespace isinglass {

namespace fs = std::filesystem;

void require_given(bool said, const char* option) {
  require_options(said, "`{}` is required", option);
}

fs::path data_directory(const DataSpec& data) {
  if (!data.directory.empty()) return data.directory;
  const char* variable = std::getenv("ISINGLASS_DATA");
  return variable && *variable ? variable : "data";
}

DataSpec absolute(DataSpec data) {
  const auto& names = dataset_names();
  const bool named = std::find(names.begin(), names.end(), data.name) != names.end();
  if (!named && fs::exists(data.name)) data.name = fs::absolute(data.name).string();
  for (fs::path* path : {&data.directory, &data.validation, &data.test}) {
    if (!path->empty()) *path = fs::absolute(*path);
  }
  return data;
}

DataSpec resolved(DataSpec data) {
  if (!data.name.empty()) data.directory = data_directory(data);
  return absolute(std::move(data));
}

ModelSpec resolved(ModelSpec model) {
  if (!model.image) model.image = ImageSize();
  for (NamedFile& factor : model.factors) factor.file = fs::absolute(factor.file);
  if (model.gradient_model) {
    model.gradient_model->file = fs::absolute(model.gradient_model->file);
  }
  return model;
}

namespace {

template <class Enum>
void take_choice(const SamplerSpec& sampler, const char* name,
                 const std::vector<std::string>& names, Enum& choice) {
  const auto said = sampler.options.find(name);
  if (said == sampler.options.end()) return;
  const auto found = std::find(names.begin(), names.end(), std::get<std::string>(said->second));
  choice = static_cast<Enum>(found - names.begin());
}

// Converts the given options to the library's. Throws Error for a switch or a choice that the
// sampler does not read; for numbers the registry does so.
SamplerOptions said_options(const SamplerSpec& sampler, const SamplerEntry& entry, bool warm) {
  SamplerOptions options;
  options.warm = warm;
  for (const auto& [name, value] : sampler.options) {
    require_options(std::holds_alternative<double>(value) || entry.option(name),
                    "`{}` is not an option of {}; it reads {}", name, entry.name,
                    option_names(entry));
  }
  for (const SamplerOption& option : sampler_options()) {
    const auto given = sampler.options.find(option.name);
    if (given == sampler.options.end()) continue;
    if (option.number) options.*option.number = std::get<double>(given->second);
    if (option.flag) options.*option.flag = std::get<bool>(given->second);
  }
  take_choice(sampler, "balancing", balancing_names(), options.balancing);
  take_choice(sampler, "scan", scan_names(), options.scan);
  return options;
}

}  // namespace

SamplerSpec resolved(const SamplerSpec& sampler, const EnergyModel& model, bool warm) {
  const SamplerEntry& entry = find_sampler(sampler.name);
  const SamplerOptions used = with_defaults(entry, said_options(sampler, entry, warm), model);
  SamplerSpec all{.name = sampler.name};
  for (const SamplerOption& option : sampler_options()) {
    if (option.number && used.*option.number) all.options[option.name] = *(used.*option.number);
    if (option.flag && entry.option(option.name)) all.options[option.name] = used.*option.flag;
  }
  if (entry.option("balancing")) {
    all.options["balancing"] = balancing_names()[static_cast<size_t>(used.balancing)];
  }
  if (entry.option("scan")) all.options["scan"] = scan_names()[static_cast<size_t>(used.scan)];
  return all;
}

std::optional<double> sampler_number(const SamplerSpec& sampler, const std::string& name) {
  const auto found = sampler.options.find(name);
  if (found == sampler.options.end()) return std::nullopt;
  return std::get<double>(found->second);
}

std::string default_sampler(const EnergyModel& model) {
  switch (model.space().kind) {
    case StateKind::kContinuous:
      return "hmc";
    case StateKind::kPermutation:
      return "lb";
    default:
      return model.differentiable() ? kDefaultSampler : "gibbs";
  }
}

void name_sampler(SamplerSpec& sampler, const EnergyModel& model, bool sweeps) {
  if (!sampler.name.empty()) return;
  const bool scan_only = sampler.options.size() == 1 && sampler.options.contains("scan");
  const bool gibbs = scan_only || (sweeps && sampler.options.empty());
  sampler.name = gibbs ? "gibbs" : default_sampler(model);
  if (gibbs) sampler.options.try_emplace("scan", "chromatic");
}

bool moves_continuous(const SamplerSpec& sampler) {
  if (sampler.name.empty()) return false;
  return find_sampler(sampler.name).kinds == std::vector{StateKind::kContinuous};
}

bool has_continuous_states(const ModelSpec& spec, const SamplerSpec& sampler) {
  if (spec.bounds) return true;
  if (!spec.instance.empty()) return !make_instance(spec.instance, {})->space().discrete();
  if (spec.name.empty()) return false;  // model_of() says that it is needed
  const ModelEntry& entry = find_model(spec.name);
  return entry.any_continuous ? moves_continuous(sampler) : entry.state_kinds == "continuous";
}

namespace {

DataSpec given_data(const DataSpec& data) {
  require_given(!data.name.empty(), "dataset");
  return resolved(data);
}

DataSpec without_levels(const DataSpec& data) {
  require_options(!data.levels, "`levels` applies to images that are categorical states");
  return given_data(data);
}

}  // namespace

Dataset images_of(const DataSpec& data) {
  const DataSpec all = given_data(data);
  return load_dataset(all.name, all.directory, all.levels, {all.validation, all.test});
}

Dataset points_of(const DataSpec& data, bool every_split) {
  const DataSpec all = without_levels(data);
  return load_points(all.name, all.directory, {all.validation, all.test}, every_split);
}

torch::Tensor labels_of(const DataSpec& data) {
  const DataSpec all = without_levels(data);
  return load_labels(all.name, all.directory);
}

namespace {

// Bounds imply continuous states.
ModelOptions model_options(const ModelSpec& spec, bool continuous) {
  const ModelSpec all = resolved(spec);
  return {.weights = all.weights,
          .sites = all.sites,
          .categories = all.categories,
          .label = all.label,
          .image_height = all.image->height,
          .image_width = all.image->width,
          .factors = all.factors,
          .penalty = all.penalty,
          .continuous = continuous || spec.bounds};
}

ImageSource images_for(const DataSpec& data, const std::function<void(const Dataset&)>& on_data) {
  if (data.name.empty()) return {};
  return {[&data, &on_data] {
            const Dataset points = points_of(data);
            if (on_data) on_data(points);
            return points.train;
          },
          [&data] { return labels_of(data); }};
}

std::shared_ptr<EnergyModel> instance_of(const ModelSpec& spec, const ImageSource& images) {
  require_options(spec.weights.empty(), "`weights` and `instance` exclude each other");
  require_options(!spec.gradient_model, "`gradient-model` and `instance` exclude each other");
  require_memory(instance_bytes(spec.instance), torch::kCPU,
                 fmt::format("instance {}", spec.instance));
  const std::shared_ptr<EnergyModel> model = make_instance(spec.instance, images);
  require_options(spec.name.empty() || spec.name == model->kind_name(),
                  "`model` is {}, but `instance` {} has model {}", spec.name, spec.instance,
                  model->kind_name());
  return model;
}

std::shared_ptr<EnergyModel> within_bounds_of(const ModelSpec& spec,
                                              std::shared_ptr<EnergyModel> model) {
  if (!spec.bounds) return model;
  return std::make_shared<BoundedModel>(std::move(model), *spec.bounds);
}

}  // namespace

std::shared_ptr<EnergyModel> model_of(const ModelSpec& spec, torch::Device device, bool continuous,
                                      std::optional<NamedTensors> tensors) {
  require_options(!spec.name.empty(), "`model` or `instance` is required");
  require_options(spec.factors.empty() || spec.name == "product",
                  "`factors` is given, but `model` is {}; product is needed", spec.name);
  require_options(
      spec.weights.empty() || spec.name != "product",
      "`weights` is given, but product has no parameters other than those of its `factors`");
  ModelOptions options = model_options(spec, continuous);
  options.tensors = std::move(tensors);
  std::shared_ptr<EnergyModel> model = within_bounds_of(spec, load_model(spec.name, options));
  model->to(device);
  return model;
}

std::shared_ptr<EnergyModel> sampled_model(const ModelSpec& spec, const SamplerSpec& sampler,
                                           const DataSpec& data, torch::Device device,
                                           const std::function<void(const Dataset&)>& on_data) {
  std::shared_ptr<EnergyModel> model;
  if (!spec.instance.empty()) {
    model = within_bounds_of(spec, instance_of(spec, images_for(data, on_data)));
  } else {
    const bool continuous = moves_continuous(sampler);
    model = model_of(spec, device, continuous);
    if (spec.gradient_model) {
      const SamplerEntry& entry =
          find_sampler(sampler.name.empty() ? default_sampler(*model) : sampler.name);
      require_options(entry.needs == "gradient",
                      "`gradient-model` is given, but {} uses no gradient", entry.name);
      ModelOptions other = model_options(spec, continuous);
      other.weights = spec.gradient_model->file;
      model = std::make_shared<GradientOverrideModel>(
          std::move(model), within_bounds_of(spec, load_model(spec.gradient_model->name, other)));
    }
  }
  model->to(device);
  return at_temperature_of(spec, std::move(model), device);
}

std::shared_ptr<EnergyModel> at_temperature_of(const ModelSpec& spec,
                                               std::shared_ptr<EnergyModel> model,
                                               torch::Device device) {
  if (spec.temperature.value_or(1) == 1) return model;
  return std::make_shared<AtTemperature>(std::move(model), *spec.temperature, device);
}

namespace {

bool multiplies_bfloat16(torch::Device device) {
  int major = 0;
  return device.is_cuda() &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device.index()) ==
             cudaSuccess &&
         major >= 8;
}

}  // namespace

void set_gradient_precision(const ModelSpec& spec, EnergyModel& model, torch::Device device) {
  const bool low = spec.gradient_precision == "auto"
                       ? model.supports_bfloat16() && multiplies_bfloat16(device)
                       : spec.gradient_precision == "bf16";
  model.set_gradient_precision(low ? GradientPrecision::kBfloat16 : GradientPrecision::kFloat32);
}

std::unique_ptr<Sampler> sampler_of(const SamplerSpec& sampler, const EnergyModel& model,
                                    bool warm) {
  require_given(!sampler.name.empty(), "sampler");
  const SamplerEntry& entry = find_sampler(sampler.name);
  return make_sampler(sampler.name, said_options(sampler, entry, warm), model);
}

std::unique_ptr<Sampler> fixed_sampler_of(const SamplerSpec& spec, const EnergyModel& model,
                                          const std::string& reason) {
  std::unique_ptr<Sampler> sampler = training_sampler_of(spec, model, reason);
  require_options(!sampler->adapts(), "`adapt` acts in burn-in, but {}", reason);
  return sampler;
}

std::unique_ptr<Sampler> training_sampler_of(const SamplerSpec& spec, const EnergyModel& model,
                                             const std::string& reason) {
  std::unique_ptr<Sampler> sampler = sampler_of(spec, model);
  const SamplerEntry& entry = find_sampler(spec.name);
  const bool scales = entry.option("sigma") && entry.site_matrices == 0;
  require_options(!sampler->warmup() || sampler->adapts(), "{} learns in burn-in, but {}{}",
                  entry.name, reason,
                  scales ? "; with `sigma` and `alpha` it has nothing to learn" : "");
  return sampler;
}

bool captures_steps(std::optional<bool> said, const EnergyModel& model, const Sampler& sampler,
                    torch::Device device) {
  if (!said) return device.is_cuda() && sampler.captures(model);
  if (!*said) return false;
  require_options(
      !sampler.needs_host_sync(),
      "`cuda-graph` is not possible, because a step of {} reads a number back from the GPU",
      sampler.name());
  require_options(model.capturable(),
                  "`cuda-graph` is not possible, because calls of model {} cannot be captured",
                  model.kind_name());
  require_options(device.is_cuda(), "`cuda-graph` captures steps on a GPU, but the device is {}",
                  device.str());
  return true;
}

}  // namespace isinglass
