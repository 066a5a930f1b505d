// The options of data sets, and what is made of them; see shared_options.h.
#include <algorithm>
#include <cstdlib>

#include "cli/identity.h"
#include "cli/options/shared_options.h"
#include "models/instances/instances.h"

namespace isinglass {

std::vector<Option> data_options() {
  return {
      {.name = "dataset",
       .unit = "NAME",
       .help = "data set by name, or a .pt or IDX file",
       .names = dataset_names()},
      {.name = "data-dir",
       .type = ValueType::kPath,
       .unit = "DIR",
       .help = "folder of the data sets (default: $ISINGLASS_DATA, else ./data)"},
  };
}

namespace {

template <class Data>
Data resolved_data(Options& options,
                   Data (*load)(const std::string&, const std::filesystem::path&)) {
  namespace fs = std::filesystem;
  options.set("data-dir", data_dir_of(options).string());
  Data data = load(options.text("dataset"), options.path("data-dir"));
  const auto& names = dataset_names();
  if (std::find(names.begin(), names.end(), options.text("dataset")) == names.end()) {
    options.set("dataset", fs::absolute(options.path("dataset")).string());
  }
  return data;
}

}  // namespace

std::filesystem::path data_dir_of(const Options& options) {
  if (options.has("data-dir")) return options.path("data-dir");
  const char* variable = std::getenv("ISINGLASS_DATA");
  return variable && *variable ? variable : "data";
}

Dataset dataset_of(Options& options) {
  return resolved_data(options, load_dataset);
}

Dataset points_of(Options& options) {
  return resolved_data(options, load_points);
}

torch::Tensor labels_of(Options& options) {
  return resolved_data(options, load_labels);
}

std::shared_ptr<EnergyModel> instance_of(Options& options) {
  ImageSource images;
  if (options.has("dataset")) {
    images = {[&] {
                const Dataset data = points_of(options);
                record_data(options, data);
                return data.train;
              },
              [&] { return labels_of(options); }};
  }
  return make_instance(options.text("instance"), images);
}

}  // namespace isinglass
