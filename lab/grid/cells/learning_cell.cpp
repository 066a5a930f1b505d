// Implements the training and the evaluation of a training cell.
#include "lab/grid/cells/learning_cell.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/annealing/weights.h"
#include "io/error.h"
#include "io/files.h"
#include "io/json.h"
#include "lab/evaluation/likelihood_evaluation.h"
#include "lab/grid/cells/cell.h"
#include "lab/page/page.h"
#include "lab/run/training.h"
#include "lab/run/training_curves.h"
#include "lab/spec/configuration.h"
#include "lab/spec/field.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kCurves[] = {"coupling_rmse", "difference", "validation_score"};

// Returns whether the training in the directory is that of a cell with these settings.
bool matches(const fs::path& directory, const Json& settings) {
  const fs::path file = directory / "cell.json";
  return fs::exists(file) && read_file(file) == text_of(settings);
}

// Returns whether the directory has a checkpoint of this very cell. If not, empties the directory,
// which loses only what came before the first checkpoint.
bool resumes(const fs::path& directory, const Json& settings) {
  require(!other_training(directory, settings), "{} holds the training of another cell",
          directory.string());
  if (matches(directory, settings) && !newest_checkpoint(directory).empty()) return true;
  fs::remove_all(directory);
  return false;
}

// Returns the metrics of the training itself, without those of an evaluation.
Json metrics_of(const TrainingCurves& curves) {
  Json metrics = Json::object();
  for (const char* key : {"acceptance", "hops", "coupling_rmse", "iterations_per_second"}) {
    if (curves.has(key)) put(metrics, key, {curves.late_mean(key)});
  }
  const auto last = [&](const char* key, double otherwise) {
    return curves.last().value(key, Json()).is_number() ? curves.last()[key].get<double>()
                                                        : otherwise;
  };
  put(metrics, "divergences", {last("recoveries", 0)});
  put(metrics, "seconds", {last("seconds", NAN)});
  return metrics;
}

// Adds the picture of the final chains if the run saved one, which it does for images.
void add_training_picture(Json& cell, const fs::path& directory, int64_t iteration) {
  const fs::path file = RunDirectory::open(directory).samples_file(iteration);
  if (fs::exists(file)) cell["picture"] = report::picture("", read_file(file));
}

// Calls a function after every checkpoint.
class OnCheckpoint : public TrainObserver {
 public:
  explicit OnCheckpoint(const std::function<void()>& call) : call_(call) {}
  void on_checkpoint(const fs::path&) override {
    if (call_) call_();
  }

 private:
  const std::function<void()>& call_;
};

// Evaluates the trained model and stores the likelihoods in the metrics if the verdict is closed.
// The evaluation resumes from its checkpoint in the directory.
Json evaluated(const Cell& cell, const fs::path& directory, const Dataset& data,
               torch::Device device, const Stop& stop, const std::function<void()>& on_kept,
               Json& metrics) {
  EvaluateSpec spec = *cell.evaluation;
  spec.model.weights = parameters_to_evaluate(directory);
  LikelihoodEvaluation evaluation(spec, {.device = device, .stop = stop}, {.data = data});
  const fs::path checkpoint = directory / "evaluation.pt";
  if (fs::exists(checkpoint)) evaluation.restore(checkpoint);
  if (!evaluation.run(checkpoint, {.on_saved = on_kept})) throw Interrupted("");
  const BracketVerdict& verdict = evaluation.verdict();
  for (const SplitLikelihood& split : evaluation.splits()) {
    const double above = split.nats.forward, below = split.nats.reverse.value_or(NAN);
    const double half = std::abs(above - below) / 2;
    if (split.split == "validation" || split.split == "test") {
      put(metrics, split.split + "_nats",
          verdict.closed ? Estimate{split.quoted, half} : Estimate{NAN});
      if (data.values == PixelValues::kCategorical) {  // Papers on such data use this unit.
        const double bits = std::abs(bits_per_dim(half, data.space().sites));
        put(metrics, split.split + "_bits",
            verdict.closed ? Estimate{split.bits_per_dim, bits} : Estimate{NAN});
      }
    }
    if (split.split != "test") continue;
    put(metrics, "test_above", {above});
    put(metrics, "test_below", {below});
    put(metrics, "bracket", {2 * half});
  }
  Json shown = evaluation.json();
  for (const char* series : {"curve", "beta"}) shown.erase(series);
  shown["parameters"] = spec.model.weights.filename().string();
  return shown;
}

Json trained(const Cell& cell, const Json& settings, const fs::path& directory, GridData& data,
             torch::Device device, const Stop& stop, const std::function<void()>& on_kept) {
  const bool resumed = resumes(directory, settings);
  OnCheckpoint observer(on_kept);
  const Dataset& images = data.of(cell.learning->data);
  Training training(*cell.learning, {.device = device, .stop = stop}, &observer, resumed,
                    {.data = images});
  if (resumed) {
    training.trainer().resume(directory);
  } else {
    training.trainer().start(directory);
    write_file(directory / "config.toml",
               configuration_text(options_of<TrainSpec>(), "train", values_of(training.spec())));
    write_file(directory / "cell.json", text_of(settings));
  }
  const TrainResult result = training.trainer().run();
  if (result.interrupted) throw Interrupted("");
  const TrainingCurves curves(directory / "metrics.jsonl");
  Json done = {{"status", "done"}, {"metrics", metrics_of(curves)}, {"curves", Json::object()}};
  for (const char* key : kCurves) {
    if (!curves.has(key)) continue;
    Json line = report::thinned("", curves.column("iteration"), curves.column(key));
    done["curves"][key] = {{"iteration", line["x"]}, {"value", line["y"]}};
  }
  add_training_picture(done, directory, result.iteration);
  if (!cell.evaluation) return done;
  try {
    done["evaluation_result"] =
        evaluated(cell, directory, images, device, stop, on_kept, done["metrics"]);
  } catch (const NumericalError& error) {
    // Energies are not finite; the training itself is finished and counts.
    done["evaluation_result"] = {{"error", error.what()}};
  }
  return done;
}

}  // namespace

const Dataset& GridData::of(const DataSpec& spec) {
  const std::string key = text_of(json_of(values_of(TrainSpec{.data = spec})));
  if (key != latest_) {
    data_ = images_of(spec);
    latest_ = key;
  }
  return data_;
}

fs::path parameters_to_evaluate(const fs::path& directory) {
  const TrainingCurves curves(directory / "metrics.jsonl");
  const auto ess = curves.column("validation_weight_ess");
  const auto last = std::find_if(ess.rbegin(), ess.rend(), [](double e) { return !std::isnan(e); });
  const bool comparable = last != ess.rend() && *last >= kLeastWeightEss;
  return directory / (comparable ? "best.pt" : "ema.pt");
}

std::optional<Json> other_training(const fs::path& directory, const Json& settings) {
  const fs::path file = directory / "cell.json";
  if (!fs::exists(file) || matches(directory, settings)) return std::nullopt;
  Json other = Json::parse(read_file(file), nullptr, /*allow_exceptions=*/false);
  return other.is_object() ? other : Json::object();
}

Json run_learning_cell(const Cell& cell, const Json& settings, const fs::path& directory,
                       GridData& data, torch::Device device, const Stop& stop,
                       const std::function<void()>& on_kept) {
  Json done = done_or_failed([&]() -> Json {
    try {
      return trained(cell, settings, directory, data, device, stop, on_kept);
    } catch (const NumericalError& error) {  // All allowed recoveries have been used.
      const TrainingCurves curves(directory / "metrics.jsonl");
      Json metrics = metrics_of(curves);
      put(metrics, "divergences", {metrics["divergences"].get<double>() + 1});
      return {{"status", "failed"}, {"error", error.what()}, {"metrics", metrics}};
    }
  });
  if (done["status"] == "failed" && done["metrics"].empty())
    return done;  // It may be resumed later.
  fs::remove_all(directory / "checkpoints");
  fs::remove(directory / "evaluation.pt");
  return done;
}

}  // namespace isinglass
