// Makes whole runs on targets and data in memory: sampling and evaluation, as `isinglass sample`
// and `isinglass evaluate` do. Each function returns a dictionary and the exception that ended the
// run early (also that of a step, such as one raised by the user's energy), or None, so that the
// caller keeps the part that was made. If ranks sample together,
// rank 0 has the whole result and the others have None. Evaluations are the same on all ranks.
#include <torch/csrc/utils/pybind.h>

#include <chrono>
#include <optional>

#include "engine/observers/step_recorder.h"
#include "engine/run/initial_states.h"
#include "io/error.h"
#include "lab/evaluation/conditional_evaluation.h"
#include "lab/evaluation/likelihood_evaluation.h"
#include "lab/run/sampling.h"
#include "lab/run/summary.h"
#include "lab/spec/configuration.h"
#include "python/bindings/callable_model.h"
#include "python/bindings/data.h"
#include "python/bindings/ranks.h"
#include "python/bindings/target.h"
#include "python/bindings/torch_state_guard.h"
#include "python/bindings/values.h"

namespace isinglass::python {
namespace {

using TargetPointer = std::shared_ptr<Target>;

constexpr int64_t kProbed = 16;  // The check of exactness takes this many states.

// Returns a sentence if a callable's energies are not a function of each state alone; empty for
// other targets.
std::string inexactness_of(const Target& target, const std::optional<torch::Tensor>& states) {
  if (!target.calls_python()) return "";
  const TorchStateGuard guard;
  const torch::Tensor x =
      states && states->dim() == 2
          ? states->slice(0, 0, kProbed).to(target.device())
          : random_states(
                target.model(),
                torch::arange(kProbed, torch::device(target.device()).dtype(torch::kInt64)),
                /*seed=*/0, target.device());
  return inexactness(target.model(), x);
}

// Calls a Python function with a dictionary of numbers after the first step, then at most ten times
// a second, and after the last step. The numbers are those of this rank's chains.
class ProgressCallback : public Observer {
 public:
  // The function must outlive this object, which is made and destroyed without the GIL.
  ProgressCallback(const py::object& function, const RunPlan& plan)
      : function_(function), plan_(plan) {}

  void on_step(int64_t step, bool burn_in, const ChainState& state) override {
    const int64_t steps = step + 1, made = steps + (burn_in ? 0 : plan_.burn_in);
    const int64_t total = plan_.burn_in + plan_.steps;
    const auto now = std::chrono::steady_clock::now();
    if (now - called_ < kBetweenCalls && made < total) return;
    called_ = now;
    const double sum = state.statistics.acceptance_sum.mean().item<double>();
    const double acceptance = (sum - earlier_sum_) / static_cast<double>(steps - earlier_steps_);
    earlier_sum_ = sum;
    earlier_steps_ = steps;
    const double energy = state.current.untempered().to(torch::kFloat64).mean().item<double>();
    const py::gil_scoped_acquire gil;
    py::dict numbers;
    numbers["step"] = made;
    numbers["total"] = total;
    numbers["draws"] = burn_in ? 0 : steps / plan_.thin;
    numbers["acceptance"] = acceptance;
    numbers["energy"] = energy;
    Interrupts::current()->call(function_, numbers);
  }
  bool every_step(bool) const override { return false; }
  void on_sampling_start() override {  // The sums of burn-in are set to zero.
    earlier_sum_ = 0;
    earlier_steps_ = 0;
  }

 private:
  static constexpr auto kBetweenCalls = std::chrono::milliseconds(100);

  const py::object& function_;
  RunPlan plan_;
  std::chrono::steady_clock::time_point called_ = {};
  double earlier_sum_ = 0;  // sum of the mean acceptances of the steps until the last call
  int64_t earlier_steps_ = 0;
};

// Makes Python's exception of an exception of C++, and keeps it. Call with the GIL held.
void keep(const std::exception_ptr& failure, Interrupts& interrupts) {
  try {
    py::cpp_function([&] { std::rethrow_exception(failure); })();
  } catch (py::error_already_set& error) {
    interrupts.keep(std::move(error));
  }
}

void take_restrictions(Given& given, const std::optional<GivenStates>& fixed,
                       const std::optional<GivenStates>& allowed,
                       const std::optional<GivenStates>& reference) {
  if (fixed) given.fixed = fixed->tensor;
  if (allowed) given.allowed = allowed->tensor;
  if (reference) given.reference = reference->tensor;
}

py::tuple sample(const GivenTarget& of, const py::dict& options,
                 const std::optional<GivenStates>& states, const std::optional<GivenStates>& fixed,
                 const std::optional<GivenStates>& allowed,
                 const std::optional<GivenStates>& reference, const py::object& data, bool moves,
                 const py::object& callback, const py::object& stop) {
  const TargetPointer& target = of.pointer;
  const TargetUse use(*target);
  std::optional<torch::Tensor> init;
  if (states) init = states->tensor;
  const auto spec = spec_of<SampleSpec>(options, "sample");
  // Images that are inpainted are taken as they come, without splits.
  const bool whole = !spec.inpaint.empty();
  Given given{.model = target->current(), .data = dataset_of(data, spec.data, {.whole = whole})};
  if (init) given.states = *init;
  take_restrictions(given, fixed, allowed, reference);
  Interrupts interrupts(stop);
  const std::string inexact = inexactness_of(*target, init);
  py::dict run;
  try {
    std::optional<TorchStateGuard> guard(std::in_place);
    const Context context = context_of(target->device(), interrupts);
    Sampling sampling(spec, context, std::move(given));
    sampling.watch_mixing();
    if (target->calls_python()) sampling.keep_failure();
    const RunPlan plan = plan_of(sampling.spec());
    Recorder recorder = sampling.recorder(!spec.no_samples);
    std::optional<StepRecorder> steps;
    std::vector<Observer*> observers;
    if (moves) observers.push_back(&steps.emplace(plan, *context.ranks));
    std::optional<ProgressCallback> progress;
    if (!callback.is_none()) observers.push_back(&progress.emplace(callback, plan));
    const RunResult& result = sampling.run(recorder, observers);
    const int64_t made = result.steps;
    if (!is_rank0()) {
      guard.reset();
      return py::make_tuple(py::none(), ending(interrupts));
    }
    nlohmann::ordered_json summary = sampling.summary(recorder);
    if (!inexact.empty()) {
      summary["exact"] = false;
      summary["inexact"] = inexact;
    }
    const torch::Tensor samples = spec.no_samples ? torch::Tensor() : recorder.samples();
    const NamedTensors learned = sampling.learned();
    const torch::Tensor solution = sampling.solution();
    const std::string warning = sampling.warning();
    const torch::Tensor rungs = sampling.rung_history();
    guard.reset();
    if (result.failure) keep(result.failure, interrupts);
    // Without kept steps, only this process knows that its burn-in was stopped.
    run["stopped"] = made < plan.steps || (plan.steps == 0 && interrupts.stopped());
    run["summary"] = object_of(summary);
    run["samples"] = samples.defined() ? py::cast(samples) : py::none();
    run["energy"] = recorder.energy();
    run["statistic"] = recorder.statistic();
    run["acceptance"] = steps ? py::cast(steps->acceptance()) : py::none();
    run["hops"] = steps ? py::cast(steps->hops()) : py::none();
    run["solution"] = solution.defined() ? py::cast(solution) : py::none();
    run["complaint"] = warning;
    run["warnings"] = chain_warnings(summary);
    run["rungs"] = rungs.defined() ? py::cast(rungs) : py::none();
    py::dict kept;
    for (const auto& [name, tensor] : learned) kept[name.c_str()] = tensor;
    run["learned"] = kept;
    run["options"] = object_of(json_of(isinglass::values_of(sampling.spec())));
  } catch (const Interrupted& stopped) {
    const py::object error = ending(interrupts);
    if (error.is_none()) throw Error(stopped.what());
    return py::make_tuple(py::none(), error);
  }
  return py::make_tuple(run, ending(interrupts));
}

py::tuple evaluate(const GivenTarget& of, const py::dict& options, const py::object& data,
                   bool whole, const std::optional<torch::Tensor>& mean,
                   const std::optional<GivenStates>& fixed,
                   const std::optional<GivenStates>& allowed,
                   const std::optional<GivenStates>& reference, const std::string& checkpoint,
                   bool resume, bool keep, const py::object& stop) {
  const TargetPointer& target = of.pointer;
  const TargetUse turn(*target);
  const auto spec = spec_of<EvaluateSpec>(options, "evaluate");
  const DataUse use{.points = !target->space().discrete(), .every_split = true, .whole = whole};
  Given given{.model = target->current(), .data = dataset_of(data, spec.data, use)};
  if (mean) given.mean = *mean;
  take_restrictions(given, fixed, allowed, reference);
  Interrupts interrupts(stop);
  given.inexact = inexactness_of(*target, std::nullopt);
  py::dict result;
  if (!spec.inpaint.empty()) {
    std::optional<TorchStateGuard> guard(std::in_place);
    const std::filesystem::path file(checkpoint);
    ConditionalEvaluation evaluation(spec, context_of(target->device(), interrupts),
                                     std::move(given));
    const bool finished =
        evaluation.run(file.parent_path() / "conditional.json", file, /*resume=*/true);
    guard.reset();
    result["finished"] = finished;
    result["steps_done"] = evaluation.done();
    result["steps_total"] = evaluation.images();
    const nlohmann::ordered_json json = evaluation.json();
    if (finished) result["json"] = object_of(json);
  } else {
    std::optional<TorchStateGuard> guard(std::in_place);
    LikelihoodEvaluation evaluation(spec, context_of(target->device(), interrupts),
                                    std::move(given));
    if (resume) evaluation.restore(checkpoint);
    const bool finished = evaluation.run(checkpoint);
    nlohmann::ordered_json json;
    if (finished) json = evaluation.json();
    if (finished && keep && is_rank0()) {
      evaluation.write(std::filesystem::path(checkpoint).parent_path(), json);
    }
    guard.reset();
    result["finished"] = finished;
    result["steps_done"] = evaluation.steps_done();
    result["steps_total"] = evaluation.steps_total();
    if (finished) {
      result["json"] = object_of(json);
      for (const auto& [name, value] : evaluation.chains()) {
        result[name.c_str()] = std::get<torch::Tensor>(value.value);
      }
    }
  }
  return py::make_tuple(result, ending(interrupts));
}

}  // namespace

void add_runs(py::module_& module) {
  module.def("sample", &sample);
  module.def("evaluate", &evaluate);
  module.def("inexactness", [](const GivenTarget& target) {
    const TargetUse use(*target.pointer);
    return inexactness_of(*target.pointer, std::nullopt);
  });
}

}  // namespace isinglass::python
