// Implements the identities of cells and of trained networks.
#include "lab/grid/identity.h"

#include <fmt/format.h>

#include <random>

#include "io/error.h"
#include "io/json.h"
#include "io/sha256.h"
#include "lab/identity.h"
#include "lab/run/assemble.h"
#include "lab/spec/configuration.h"
#include "lab/spec/field.h"
#include "models/identity.h"
#include "models/instances/instances.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

template <class Spec>
Json settings_json(const Spec& spec) {
  OptionValues values = values_of(spec);
  values.erase("data-dir");
  return json_of(values);
}

// Hashes the points or grey levels of continuous states, with the labels if classes are learned.
std::string hash_of_points(const DataSpec& data, bool classes) {
  const std::string points = data_sha256(points_of(data));
  return classes ? sha256(points + sha256({{"labels", labels_of(data)}})) : points;
}

// Returns which measurements the cell makes in addition to the metrics of every cell.
Json measures_json(const Grid& grid, const Cell& cell) {
  Json measures = {{"reference", grid.reference}};
  if (grid.true_mean) measures["mean"] = *grid.true_mean;
  if (grid.picture) measures["picture"] = {grid.picture->height, grid.picture->width};
  if (cell.modes.centers.defined()) {
    measures["modes"] = sha256({{"centers", cell.modes.centers}, {"right", cell.modes.right}});
    measures["radius"] = cell.modes.radius;
  }
  return measures;
}

// Hashes the model's parameters and the outputs of its functions. Outputs that differ from call to
// call cannot be hashed. A function with such outputs and without tensors gets a random identity,
// so that no cell of an earlier run counts.
std::string given_identity(const EnergyModel& model, torch::Device device) {
  const std::string parameters = parameters_sha256(model);
  if (own_functions(model).empty()) return parameters;
  if (const auto functions = functions_sha256(model, device)) {
    return sha256(parameters + *functions);
  }
  for (const EnergyModel* function : own_functions(model)) {
    if (has_tensors(*function)) continue;
    std::random_device device_of_system;
    return fmt::format("{} differs from call to call: {:08x}", function->title(),
                       device_of_system());
  }
  return parameters;
}

}  // namespace

Json cell_settings(const Cell& cell) {
  Json settings = Json::object();
  for (const auto& [name, value] : cell.settings) settings[name] = value;
  Json training = Json::array();
  for (const TrainSpec& network : cell.training) training.push_back(settings_json(network));
  Json json = {{"model", cell.model},
               {"sampler", cell.sampler},
               {"settings", settings},
               {"repeat", cell.repeat},
               {"sampling", cell.learning ? Json::object() : settings_json(cell.sampling)},
               {"training", training}};
  if (cell.learning) json["learning"] = settings_json(*cell.learning);
  if (cell.evaluation) json["evaluation"] = settings_json(*cell.evaluation);
  return json;
}

const std::string& GridIdentity::known(const std::string& what,
                                       const std::function<std::string()>& hash) {
  const auto found = known_.find(what);
  if (found != known_.end()) return found->second;
  std::string value = "missing";
  try {
    value = hash();
  } catch (const Error&) {
    // The part of the program that reads the file reports the reason.
  }
  return known_[what] = value;
}

void GridIdentity::add_files(const OptionTable& table, const OptionValues& values, Json& sources) {
  for (const auto& [name, value] : values) {
    const auto* text = std::get_if<std::string>(&value);
    if (!text || name == "dataset") continue;
    for (const fs::path& file : files_named_by(*find_option(table, name), *text)) {
      if (!fs::is_regular_file(file)) continue;
      sources[file.string()] = known(file.string(), [&] { return file_sha256(file); });
    }
  }
}

void GridIdentity::add_sources(const SampleSpec& sampling, Json& sources) {
  add_files(options_of<SampleSpec>(), values_of(sampling), sources);
  const DataSpec& data = sampling.data;
  if (data.name.empty()) return;
  const bool points = !sampling.model.instance.empty();
  const std::string what = fmt::format("{} of {}: {}", data.name, data_directory(data).string(),
                                       points ? "points" : "images");
  sources[data.name] = known(
      what, [&] { return points ? hash_of_points(data, false) : data_sha256(images_of(data)); });
}

void GridIdentity::add_sources(const TrainSpec& training, Json& sources) {
  add_files(options_of<TrainSpec>(), values_of(training), sources);
  const DataSpec& data = training.data;
  if (names_instance(data.name)) return;  // The program generates these data.
  const std::string& objective = training.objective;
  const bool images = objective == "pcd" || objective == "cd" || objective == "nce";
  const bool classes = objective == "classify";
  const std::string what = fmt::format("{} of {}: {}", data.name, data_directory(data).string(),
                                       images    ? "images"
                                       : classes ? "classes"
                                                 : "points");
  sources[data.name] = known(
      what, [&] { return images ? data_sha256(images_of(data)) : hash_of_points(data, classes); });
}

Json GridIdentity::of(const Grid& grid, const Cell& cell) {
  Json sources = Json::object();
  if (cell.learning) {
    add_sources(*cell.learning, sources);
  } else {
    add_sources(cell.sampling, sources);
  }
  for (const TrainSpec& training : cell.training) add_sources(training, sources);
  if (const auto given = given_.find(cell.model); given != given_.end()) {
    sources[cell.model] =
        known("model " + cell.model, [&] { return given_identity(*given->second, device_); });
  }
  return {{"program", program_revision()},
          {"device", device_.is_cuda() ? "cuda" : "cpu"},
          {"measures", measures_json(grid, cell)},
          {"sources", sources}};
}

std::string GridIdentity::of_training(const TrainSpec& training) {
  Json sources = Json::object();
  add_sources(training, sources);
  return sha256(fmt::format("{} {} {} {}", program_revision(), device_.str(), text_of(sources),
                            text_of(settings_json(training))))
      .substr(0, 16);
}

std::string identity_change(const Json& was, const Json& is) {
  if (!was.is_object()) return "they do not identify their program and data";
  const auto program = is["program"].get<std::string>();
  if (was.value("program", "") != program) {
    return fmt::format("the program was {} and is {}", was.value("program", "unknown"), program);
  }
  if (was.value("device", Json()) != is["device"]) {
    return fmt::format("they were computed on {}", was.value("device", "an unknown device"));
  }
  if (was.value("measures", Json()) != is["measures"]) return "the grid measures something else";
  const Json before = was.value("sources", Json::object());
  for (const auto& [name, hash] : is["sources"].items()) {
    if (before.value(name, "") != hash.get<std::string>())
      return fmt::format("the contents of {} have changed", name);
  }
  return "they belong to other files";
}

}  // namespace isinglass
