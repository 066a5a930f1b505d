// Registry entry of resnet.h: reads its parameter files and makes new networks.
#include "io/error.h"
#include "models/network/init_smooth.h"
#include "models/network/resnet.h"
#include "models/parameter_file.h"
#include "models/registry.h"

namespace isinglass {
namespace {

// Returns the shape, as given by the sizes of the file's own tensors, so that a crafted file cannot
// make the model allocate more memory than the file has.
ResNetModel::Shape shape_in(const ParameterReader& reader, const ModelOptions& options) {
  ResNetModel::Shape shape{options.image_height, options.image_width, 0};
  const bool of_values =
      reader.has("proj2.weight") || (reader.rank("proj.weight") == 4 &&
                                     reader.peek("proj.weight", {-1, -1, -1, -1}).size(2) == 1);
  if (of_values) {
    const torch::Tensor proj = reader.peek("proj.weight", {-1, -1, 1, 1});
    shape.proj = proj.size(0);
    shape.categories = proj.size(1);
    check_categories(reader, "proj.weight", proj.flatten(1));
    require(shape.proj >= 1, "{}: tensor 'proj.weight' has no channels", reader.source());
    shape.channels = reader.peek("proj2.weight", {-1, shape.proj, 3, 3}).size(0);
  } else {
    shape.channels = reader.peek("proj.weight", {-1, 1, 3, 3}).size(0);
  }
  const char* first = shape.categories > 0 ? "proj2.weight" : "proj.weight";
  require(shape.channels >= 1, "{}: tensor '{}' has no channels", reader.source(), first);
  reader.peek("net.0.conv1.weight", {shape.channels, shape.channels, 3, 3});
  // A map of one position gives both heads the same weights and the same energies.
  const int64_t features = reader.peek("energy_linear.weight", {1, -1}).size(1);
  shape.linear_head = features != shape.channels && features == shape.channels * shape.positions();
  return shape;
}

std::shared_ptr<EnergyModel> load_resnet(const ModelOptions& options) {
  ParameterReader reader = options.reader();
  const ResNetModel::Shape shape = shape_in(reader, options);
  torch::Tensor mean;
  if (reader.has("mean")) {
    mean = reader.peek("mean", std::vector<int64_t>(shape.categories > 0 ? 2 : 1, -1));
    ResNetModel::check_base_mean(mean, shape, reader.source());
  }
  const auto model = std::make_shared<ResNetModel>(shape, mean);
  load_state(*model, reader);
  return model;
}

std::shared_ptr<EnergyModel> fresh_resnet(const NewModelOptions& options) {
  const ResNetModel::Shape shape{options.image_height, options.image_width, options.channels,
                                 options.categories, options.proj};
  const auto model = std::make_shared<ResNetModel>(shape, options.base_mean);
  if (shape.categories > 0) {
    init_smooth(model->named_parameters(), shape.positions(), options.base_mean);
  }
  return model;
}

}  // namespace

std::vector<ModelEntry> resnet_models() {
  return {{.name = "resnet",
           .energy = "-net(x) [- log Bernoulli(x; mean)]",
           .parameters =
               "proj, net.{0..7}, energy_linear [, mean [D]]; categorical: and proj2, mean [D,K]",
           .state_kinds = "binary or categorical images",
           .gradient = true,
           .load = load_resnet,
           .fresh = fresh_resnet,
           .categorical = true}};
}

}  // namespace isinglass
