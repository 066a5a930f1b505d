// Trains models on data in memory, as `isinglass train` does.
#include "lab/run/training.h"

#include <fmt/format.h>
#include <torch/csrc/utils/pybind.h>

#include "io/error.h"
#include "io/files.h"
#include "io/pt/pt_file.h"
#include "lab/grid/cells/trained_models.h"
#include "lab/grid/run.h"
#include "lab/report/write.h"
#include "lab/spec/configuration.h"
#include "python/bindings/data.h"
#include "python/bindings/ranks.h"
#include "python/bindings/target.h"
#include "python/bindings/torch_state_guard.h"
#include "python/bindings/values.h"

namespace isinglass::python {
namespace {

namespace fs = std::filesystem;
using TargetPointer = std::shared_ptr<Target>;

// Calls a Python function after every iteration with a dictionary of its numbers. If the function
// returns True or raises an exception, the training saves and ends.
class Callback : public TrainObserver {
 public:
  explicit Callback(py::object function) : function_(std::move(function)) {}

  void on_iteration(const Metrics& metrics) override {
    const py::gil_scoped_acquire gil;
    py::dict values;
    values["iteration"] = metrics.iteration;
    for (const auto& [name, value] : metrics.values) values[name.c_str()] = value;
    Interrupts::current()->call(function_, values);
  }
  void on_warning(const std::string& message) override {
    if (!is_rank0()) return;
    const py::gil_scoped_acquire gil;
    // Python attributes the warning to the caller of train(). It may raise an exception instead.
    if (PyErr_WarnEx(PyExc_UserWarning, message.c_str(), /*stack_level=*/2) != 0) {
      Interrupts::current()->keep(py::error_already_set());
    }
  }

 private:
  py::object function_;
};

// Clears the gradients of a model in memory at the end, also after an exception.
class NoGradientsLeft {
 public:
  explicit NoGradientsLeft(std::shared_ptr<EnergyModel> model) : model_(std::move(model)) {}
  ~NoGradientsLeft() {
    if (model_) model_->zero_grad();
  }
  NoGradientsLeft(const NoGradientsLeft&) = delete;
  NoGradientsLeft& operator=(const NoGradientsLeft&) = delete;

 private:
  std::shared_ptr<EnergyModel> model_;
};

// Returns the name of a file in the directory that a run of another kind has written, or that its
// owner may need; empty if there is none.
std::string file_of_a_run(const fs::path& directory) {
  for (const char* name : {"config.toml", "samples.pt", "summary.json", "ais.json",
                           "ais-checkpoint.pt", "results.json"}) {
    if (fs::exists(directory / name)) return name;
  }
  return "";
}

py::tuple train(const TargetPointer& target, const py::dict& options, const py::object& data,
                const py::object& labels, const std::string& device, const std::string& directory,
                const py::object& callback, const py::object& stop) {
  std::optional<TargetUse> use;
  if (target) use.emplace(*target);
  auto spec = spec_of<TrainSpec>(options, "train");
  const bool points = trains_on_points(spec) || (target && !target->space().discrete());
  Given given{.model = target ? target->current() : nullptr,
              .data = dataset_of(data, spec.data, {.points = points, .labels = labels})};
  if (!given.data) given.labels = labels_of(labels);
  const torch::Device place = target ? target->device() : device_of(device, local_rank());
  const NoGradientsLeft afterwards(given.model);
  if (target && (spec.objective == "pcd" || spec.objective == "cd")) {
    const py::object inexactness = py::module_::import("isinglass._targets").attr("inexactness");
    const auto sentence = py::cast<std::string>(inexactness(target));
    // Python attributes the warning to the caller of train(). It may raise an exception instead.
    if (!sentence.empty() &&
        PyErr_WarnEx(PyExc_UserWarning, sentence.c_str(), /*stack_level=*/2) != 0) {
      throw py::error_already_set();
    }
  }
  Callback observer(callback);
  Interrupts interrupts(stop);
  py::dict fit;
  {
    std::optional<TorchStateGuard> guard(std::in_place);
    const Context context = context_of(place, interrupts);
    const Ranks& ranks = *context.ranks;
    const bool resumed = ranks.any(ranks.is_rank0() && !newest_checkpoint(directory).empty());
    const std::string foreign = ranks.is_rank0() && !resumed ? file_of_a_run(directory) : "";
    require(!ranks.any(!foreign.empty()),
            "{} already holds {}, which does not belong to a training run; give another directory",
            directory, foreign.empty() ? "a file" : foreign);
    if (resumed) keep_warmup(spec, directory);
    Training training(spec, context, callback.is_none() ? nullptr : &observer, resumed,
                      std::move(given));
    resumed ? training.trainer().resume(directory) : training.trainer().start(directory);
    if (ranks.is_rank0()) {
      training.log_notes(directory);
      write_file(fs::path(directory) / "config.toml",
                 configuration_text(options_of<TrainSpec>(), "train",
                                    isinglass::values_of(training.spec())));
    }
    const TrainResult result = training.trainer().run();
    // Waits until rank 0 has written its files.
    ranks.any(false);
    const NamedTensors averages = read_named_tensors(fs::path(directory) / "ema.pt");
    guard.reset();
    fit["iteration"] = result.iteration;
    fit["interrupted"] = result.interrupted;
    fit["recoveries"] = result.recoveries;
    std::vector<std::string> notes;
    for (const std::string& note : training.notes()) notes.push_back(spell_options(note, "", "="));
    fit["notes"] = notes;
    fit["draws_from_grey_levels"] = training.draws_from_grey_levels();
    fit["continuous"] = !training.model().space().discrete();
    fit["options"] = object_of(json_of(isinglass::values_of(training.spec())));
    py::dict parameters;
    for (const auto& [name, tensor] : averages) parameters[name.c_str()] = tensor;
    fit["parameters"] = parameters;
  }
  return py::make_tuple(fit, ending(interrupts));
}

py::tuple ablate(const py::dict& options, const std::map<std::string, TargetPointer>& targets,
                 const std::string& device, const std::string& directory) {
  auto spec = spec_of<GridSpec>(options, "ablate");
  if (spec.cache.empty()) spec.cache = default_cache();
  std::vector<Target*> used;
  for (const auto& [label, target] : targets) used.push_back(target.get());
  const TargetUse use(used);
  std::map<std::string, std::shared_ptr<EnergyModel>> models;
  for (const auto& [label, target] : targets) models[label] = target->current();
  const torch::Device place =
      targets.empty() ? device_of(device, local_rank()) : targets.begin()->second->device();
  Interrupts interrupts;
  nlohmann::ordered_json results;
  {
    std::optional<TorchStateGuard> guard(std::in_place);
    try {
      const Grid grid = read_grid(spec, models);
      if (!grid.warning.empty() && is_rank0()) warn(spell_options(grid.warning, "", "="));
      results = run_grid(spec, grid, directory, context_of(place, interrupts),
                         {.next = next_cell()}, models);
    } catch (const Interrupted&) {
      guard.reset();
      return py::make_tuple(py::none(), ending(interrupts));
    }
  }
  return py::make_tuple(is_rank0() ? object_of(results) : py::none(), py::none());
}

void report(const std::string& directory, const std::string& file) {
  const TorchStateGuard guard;
  write_report(directory, file);
}

}  // namespace

void add_training(py::module_& module) {
  module.def("train", &train);
  module.def("ablate", &ablate);
  module.def("report", &report);
}

}  // namespace isinglass::python
