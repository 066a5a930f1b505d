// Implements the multilayer perceptron and its registry entry.
#include "models/network/mlp.h"

#include "io/error.h"
#include "models/parameter_file.h"
#include "models/registry.h"
#include "models/scoped_torch_seed.h"

namespace isinglass {

MlpModel::MlpModel(const StateSpace& space, int64_t outputs, int64_t label)
    : space_(space), label_(label) {
  const int64_t inputs = space.sites * (space.one_hot() ? space.categories : 1);
  const int64_t widths[] = {inputs, kWidth, kWidth, kWidth, outputs};
  for (int i = 0; i < 4; ++i) {
    layers_.push_back(register_module(
        std::to_string(2 * i),
        float32_layer<torch::nn::Linear>(torch::nn::LinearOptions(widths[i], widths[i + 1]))));
  }
}

FlopCounts MlpModel::flops() const {
  const auto product = [](const torch::nn::Linear& layer) {
    return 2.0 * static_cast<double>(layer->weight.numel());
  };
  double others = 0;
  for (size_t i = 1; i < layers_.size(); ++i) others += product(layers_[i]);
  return FlopCounts::of_network(product(layers_[0]), others);
}

torch::Tensor MlpModel::logits(const torch::Tensor& x) {
  torch::Tensor h = relaxed(x).flatten(1);
  for (size_t i = 0; i + 1 < layers_.size(); ++i) h = torch::silu(layers_[i]->forward(h));
  return layers_.back()->forward(h);
}

torch::Tensor MlpModel::energy(const torch::Tensor& x) {
  return -logits(x).select(1, label_);
}

namespace {

// Throws Error unless `class` is one of the outputs; it may only be omitted if there is just one.
void check_class(const ModelOptions& options, int64_t outputs, const std::string& file) {
  require_options(
      outputs == 1 || options.label.has_value(),
      "{} is a classifier of {} classes; `class` Y must name the one whose energy is used", file,
      outputs);
  require_options(options.label.value_or(0) < outputs, "`class` is {}, but {} has {} outputs",
                  options.label.value_or(0), file, outputs);
}

// Loads a network. The number of inputs determines the number of sites; with `categories` K the
// input is one-hot.
std::shared_ptr<EnergyModel> load_mlp(const ModelOptions& options) {
  ParameterReader reader = options.reader();
  const int64_t inputs = reader.peek("0.weight", {MlpModel::kWidth, -1}).size(1);
  const int64_t categories = options.categories.value_or(2);
  const int64_t per_site = options.categories ? categories : 1;
  require_options(inputs % per_site == 0, "{}: {} inputs are not a multiple of `categories` {}",
                  reader.source(), inputs, categories);
  const StateKind kind = options.continuous   ? StateKind::kContinuous
                         : options.categories ? StateKind::kCategorical
                                              : StateKind::kBinary;
  const int64_t outputs = reader.peek("6.weight", {-1, MlpModel::kWidth}).size(0);
  check_class(options, outputs, reader.source());
  const auto model = std::make_shared<MlpModel>(StateSpace{kind, inputs / per_site, categories},
                                                outputs, options.label.value_or(0));
  load_state(*model, reader);
  return model;
}

std::shared_ptr<EnergyModel> fresh_mlp(const NewModelOptions& options) {
  StateSpace space{options.continuous ? StateKind::kContinuous : StateKind::kBinary,
                   options.image_height * options.image_width, 2};
  if (options.categories > 0) {
    space.kind = StateKind::kCategorical;
    space.categories = options.categories;
  }
  return std::make_shared<MlpModel>(space, options.classes);
}

}  // namespace

std::vector<ModelEntry> mlp_models() {
  return {{.name = "mlp",
           .energy = "-net(x), three layers of 256; of a classifier -net(x)[y], `class` y",
           .parameters = "{0,2,4,6}.{weight,bias}",
           .state_kinds = "binary, categorical (`categories`), continuous",
           .gradient = true,
           .load = load_mlp,
           .fresh = fresh_mlp,
           .classifier = true,
           .any_continuous = true}};
}

}  // namespace isinglass
