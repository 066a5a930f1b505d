// Registry entry of residual.h: reads parameter files and makes new networks on a base.
#include <string_view>

#include "io/error.h"
#include "io/pt/state_dict.h"
#include "models/combined/residual.h"
#include "models/network/init_smooth.h"
#include "models/network/resnet.h"
#include "models/parameter_file.h"
#include "models/registry.h"
#include "models/scoped_torch_seed.h"
#include "models/text_tensor.h"

namespace isinglass {
namespace {

// Returns a message about the tensors of a part, with the names that they have in the whole file.
std::string message_of_file(std::string message, std::string_view prefix,
                            const std::string& source) {
  constexpr std::string_view kParameters = "the parameters", kTensor = "tensor '";
  if (message.starts_with(kParameters)) message.replace(0, kParameters.size(), source);
  for (size_t at = message.find(kTensor); at != std::string::npos; at = message.find(kTensor, at)) {
    at += kTensor.size();
    message.insert(at, prefix);
  }
  return message;
}

// Returns a part of the model, whose tensors are given without the prefix that they have in the
// file, and which has these states if they are not null.
std::shared_ptr<EnergyModel> load_part(const std::string& kind, NamedTensors tensors,
                                       std::string_view prefix, const ModelOptions& whole,
                                       const StateSpace* space) {
  ModelOptions options{.image_height = whole.image_height, .image_width = whole.image_width};
  options.tensors = std::move(tensors);
  if (space && space->kind == StateKind::kCategorical) options.categories = space->categories;
  options.continuous = space && !space->discrete();
  try {
    return load_model(kind, options);
  } catch (const OptionError&) {
    throw;
  } catch (const Error& error) {
    fail("{}", message_of_file(error.what(), prefix, whole.source()));
  }
}

// Returns the kinds of the network and of the base.
std::pair<std::string, std::string> kinds_in(ParameterReader& reader) {
  const std::string text = text_in(reader.whole("residual.kinds", {-1}));
  const size_t space = text.find(' ');
  require(space != std::string::npos && space > 0 && space + 1 < text.size(),
          "{}: tensor 'residual.kinds' holds '{}'; the kinds of the network and of the base are "
          "needed",
          reader.source(), text);
  return {text.substr(0, space), text.substr(space + 1)};
}

std::optional<KnownLogZ> log_z_in(ParameterReader& reader) {
  const torch::Tensor stored = reader.real("residual.log_z", {-1});
  require(stored.numel() <= 2,
          "{}: tensor 'residual.log_z' has {} values; log Z and its standard error are needed, log "
          "Z alone, or none",
          reader.source(), stored.numel());
  if (stored.numel() == 0) return std::nullopt;
  return known_log_z(stored);
}

constexpr std::string_view kBase = "base.", kAbout = "residual.";

// The tensors of a file: those of the network, of the base without its prefix, and of the model.
struct Parts {
  NamedTensors network, base, about;

  explicit Parts(const ModelOptions& options) {
    NamedTensors all = options.tensors ? *options.tensors : read_parameters(options.weights);
    for (auto& [name, tensor] : unwrapped(std::move(all))) {
      if (name.starts_with(kBase)) {
        base.emplace_back(name.substr(kBase.size()), tensor);
      } else {
        (name.starts_with(kAbout) ? about : network).emplace_back(name, tensor);
      }
    }
  }
};

std::shared_ptr<EnergyModel> load_residual(const ModelOptions& options) {
  Parts parts(options);
  ParameterReader reader(options.source(), std::move(parts.about));
  const auto [network, base] = kinds_in(reader);
  require(network != "residual" && base != "residual",
          "{}: a residual model cannot be a part of another one", reader.source());
  ResidualOptions made;
  made.bound = reader.real("residual.bound", {}).item<double>();
  made.log_z = log_z_in(reader);
  made.base_sha256 = text_in(reader.whole("residual.base_sha256", {-1}));
  reader.finish();
  const std::shared_ptr<EnergyModel> below =
      load_part(base, std::move(parts.base), kBase, options, nullptr);
  const StateSpace space = below->space();
  return std::make_shared<ResidualModel>(
      below, load_part(network, std::move(parts.network), "", options, &space), made);
}

// Returns a new network for these states.
std::shared_ptr<EnergyModel> new_network(const NewResidualOptions& options, NewModelOptions shape,
                                         const StateSpace& space, uint64_t seed) {
  require_options(options.network == "resnet" || options.network == "mlp",
                  "`network` is {}; resnet or mlp is needed", options.network);
  shape.categories = space.kind == StateKind::kCategorical ? space.categories : 0;
  shape.base_mean = torch::Tensor();
  if (!options.linear_head) return new_model(options.network, shape, seed);
  require_options(options.network == "resnet", "`head` linear is that of a resnet; `network` is {}",
                  options.network);
  const ScopedTorchSeed generator(seed);
  const auto network = std::make_shared<ResNetModel>(
      ResNetModel::Shape{shape.image_height, shape.image_width, shape.channels, shape.categories,
                         shape.proj, /*linear_head=*/true},
      torch::Tensor());
  // The weights of a linear head are those of single positions, not of their mean.
  if (shape.categories > 0) init_smooth(network->named_parameters(), 1, torch::Tensor());
  return network;
}

}  // namespace

std::shared_ptr<ResidualModel> new_residual(const NewResidualOptions& options,
                                            const NewModelOptions& shape, uint64_t seed) {
  const std::shared_ptr<EnergyModel> base =
      load_model(options.base.name, {.weights = options.base.file,
                                     .image_height = shape.image_height,
                                     .image_width = shape.image_width});
  const StateSpace space = base->space();
  const int64_t pixels = shape.image_height * shape.image_width;
  require_options(space.sites == pixels, "`base-model` {} has {} sites, and the images have {}",
                  options.base.file.string(), space.sites, pixels);
  return std::make_shared<ResidualModel>(
      base, new_network(options, shape, space, seed),
      ResidualOptions{.bound = options.bound, .log_z = options.log_z});
}

std::vector<ModelEntry> residual_models() {
  return {{.name = "residual",
           .energy = "U_base(x) + c tanh(f(x) / c), a network f on a base",
           .parameters = "those of the network; base.* of the base; residual.{kinds,bound,log_z,"
                         "base_sha256}",
           .state_kinds = "those of the base",
           .gradient = true,
           .load = load_residual,
           .fresh = nullptr,  // new_residual() makes new ones, on a base
           .categorical = true}};
}

}  // namespace isinglass
