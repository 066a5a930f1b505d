// Implements the cache of trained models.
#include "lab/grid/cells/trained_models.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "io/error.h"
#include "io/files.h"
#include "io/json.h"
#include "lab/run/training.h"
#include "lab/spec/configuration.h"
#include "lab/spec/field.h"

namespace isinglass {

namespace fs = std::filesystem;

constexpr auto kBetweenLooks = std::chrono::milliseconds(100);

fs::path default_cache() {
  const auto variable = [](const char* name) -> fs::path {
    const char* value = std::getenv(name);
    return value ? value : "";
  };
  if (!variable("XDG_CACHE_HOME").empty()) return variable("XDG_CACHE_HOME") / "isinglass";
  require_options(!variable("HOME").empty(),
                  "`cache` DIR is needed, because neither HOME nor XDG_CACHE_HOME is set");
  return variable("HOME") / ".cache" / "isinglass";
}

GridModels::GridModels(fs::path cache, GridIdentity& identity, torch::Device device, Stop stop,
                       GivenModels given)
    : cache_(std::move(cache)),
      identity_(identity),
      device_(device),
      stop_(std::move(stop)),
      given_(std::move(given)) {}

void GridModels::train(const TrainSpec& spec, const fs::path& directory) const {
  const bool resumed = !newest_checkpoint(directory).empty();
  Training training(spec, {.device = device_, .stop = stop_}, nullptr, resumed);
  if (resumed) {
    training.trainer().resume(directory);
  } else {
    fs::remove_all(directory);  // A process was killed before its first checkpoint.
    training.trainer().start(directory);
  }
  write_file(directory / "config.toml",
             configuration_text(options_of<TrainSpec>(), "train", values_of(training.spec())));
  if (training.trainer().run().interrupted) throw Interrupted("");
}

fs::path GridModels::trained(const TrainSpec& spec) {
  const fs::path kept = cache_ / ("model-" + identity_.of_training(spec));
  const fs::path weights = kept / "ema.pt", partial = kept / "partial";
  if (fs::exists(weights)) return weights;
  fs::create_directories(kept);
  // Other processes and ranks that need the network wait for this one.
  FolderLock lock;
  while (!lock.take(kept)) {
    if (stop_ && stop_()) throw Interrupted("");
    std::this_thread::sleep_for(kBetweenLooks);
  }
  if (fs::exists(weights)) return weights;
  // The folder's name is a hash of all that decides the weights, so that a checkpoint left by an
  // interrupted process belongs to this very training.
  train(spec, partial);
  for (const auto& entry : fs::directory_iterator(partial)) {
    const fs::path name = entry.path().filename();
    if (name == weights.filename()) continue;
    fs::remove_all(kept / name);
    fs::rename(partial / name, kept / name);
  }
  // It is moved last, so that its presence means that all is there.
  fs::rename(partial / weights.filename(), weights);
  fs::remove_all(partial);
  return weights;
}

ModelSpec GridModels::with_trained(const Cell& cell) {
  ModelSpec model = cell.sampling.model;
  std::vector<NamedFile> networks;
  for (const TrainSpec& training : cell.training) {
    networks.push_back({training.model.name, trained(training)});
  }
  if (networks.size() == 1) {
    model.name = networks.front().name;
    model.weights = networks.front().file;
  } else if (networks.size() > 1) {
    model.name = "product";
    model.factors = networks;
  }
  return model;
}

const GridModels::Target& GridModels::target(const Cell& cell, bool with_reference) {
  const SampleSpec& spec = cell.sampling;
  const nlohmann::ordered_json of = {
      moves_continuous(spec.sampler),
      json_of(values_of(SampleSpec{.model = spec.model, .data = spec.data})),
      cell_settings(cell)["training"], given_.contains(cell.model) ? cell.model : ""};
  const std::string key = text_of(of);
  if (key != latest_) {
    latest_.clear();
    const auto given = given_.find(cell.model);
    target_.model = given != given_.end()
                        ? given->second
                        : sampled_model(with_trained(cell), spec.sampler, spec.data, device_);
    target_.reference =
        with_reference ? block_gibbs_truth(*target_.model, device_, stop_) : GroundTruth();
    if (stop_ && stop_()) throw Interrupted("");
    latest_ = key;
  }
  const auto* wrong = dynamic_cast<const WrongGradientModel*>(target_.model.get());
  target_.modes = cell.modes.centers.defined() || !wrong ? cell.modes : wrong->modes();
  return target_;
}

}  // namespace isinglass
