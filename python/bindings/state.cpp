// Implements chains as a Python object: steps, checks for changes, pickling.
#include "python/bindings/state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/python_variable.h>

#include <string>
#include <utility>

#include "io/error.h"
#include "lab/run/assemble.h"
#include "lab/spec/configuration.h"
#include "models/bounds.h"
#include "models/identity.h"
#include "python/bindings/callable_model.h"
#include "python/bindings/torch_state_guard.h"
#include "python/bindings/values.h"

namespace isinglass::python {
namespace {

bool same(const torch::Tensor& one, const torch::Tensor& other) {
  return one.defined() == other.defined() && (!one.defined() || one.equal(other));
}

// Returns the quantities of the model at x that the sampler keeps.
Evaluation evaluated(const Sampler& sampler, EnergyModel& model, const torch::Tensor& x) {
  Evaluation fresh;
  switch (sampler.needs()) {
    case Needs::kEnergy:
      model.evaluate_energy(x, fresh);
      break;
    case Needs::kGradient:
      model.evaluate(x, fresh);
      break;
    case Needs::kDifferences:
      evaluate_differences(model, x, fresh);
  }
  return fresh;
}

// Returns the tensors that carry over from step to step, by the names of a state dict. Samplers and
// models leave some of them undefined.
std::vector<std::pair<std::string, torch::Tensor*>> tensors_of(ChainState& chains,
                                                               StepParams& params) {
  Statistics& s = chains.statistics;
  std::vector<std::pair<std::string, torch::Tensor*>> all = {
      {"x", &chains.x},
      {"chain_ids", &chains.chain_ids},
      {"energy", &chains.current.energy},
      {"target_energy", &chains.current.target},
      {"gradient", &chains.current.gradient},
      {"differences", &chains.current.differences},
      {"kept", &chains.workspace.cache},
      {"acceptance", &s.acceptance},
      {"hops", &s.hops},
      {"acceptance_sum", &s.acceptance_sum},
      {"hops_sum", &s.hops_sum},
      {"non_finite", &s.non_finite},
      {"rng", &params.rng},
      {"scale", &params.scale}};
  for (size_t i = 0; i < chains.current.cache.size(); ++i) {
    all.emplace_back(fmt::format("cache.{}", i), &chains.current.cache[i]);
  }
  return all;
}

constexpr const char *kSampler = "sampler", *kOptions = "options", *kLearned = "learned",
                     *kSteps = "steps", *kEvaluations = "evaluations",
                     *kParameters = "parameters_sha256";

// Returns the entry of a state dict. Throws Error if it lacks the entry.
py::object entry(const py::dict& saved, const char* name) {
  require(saved.contains(name), "the state dict of chains has no '{}'", name);
  return saved[name];
}

torch::Tensor tensor_in(const py::dict& saved, const std::string& name) {
  const py::object value = entry(saved, name.c_str());
  require(THPVariable_Check(value.ptr()), "'{}' in the state dict of chains is not a tensor", name);
  return py::cast<torch::Tensor>(value);
}

}  // namespace

State::State(py::object target, SamplerSpec spec, const torch::Tensor& x, const torch::Tensor& ids,
             uint64_t seed, int64_t step)
    : target_object_(std::move(target)),
      target_(py::cast<Target::Pointer>(target_object_)),
      spec_(std::move(spec)),
      first_step_(step) {
  const TargetUse use(*target_);
  const bool look = target_->calls_python() && target_->look_at(modes_of(target_->model()));
  const TorchStateGuard guard;
  EnergyModel& model = target_->model();
  sampler_ = sampler_of(spec_, model);
  resolved_ = resolved(spec_, model);
  tensors_ = target_->stamps();
  chains_ = sampler_->init(model, x, ids);
  if (look) {
    inexactness_ = isinglass::python::inexactness(model, chains_.x, chains_.current.energy.clone());
  }
  params_ = sampler_->params(seed, target_->device(), step);
  states_ = {TensorStamp(chains_.x)};
}

py::dict State::scale() const {
  py::dict scale;
  const std::vector<Scale> scales = sampler_->scales();
  const torch::Tensor values = params_.scale.cpu();
  for (size_t i = 0; i < scales.size(); ++i) {
    scale[python_name(scales[i].name).c_str()] = values[static_cast<int64_t>(i)].item<double>();
  }
  return scale;
}

State::Use::Use(State& state) : state_(state) {
  require(!state.used_.exchange(true),
          "the state is in use by another call, in another thread or in the call that evaluates "
          "its target; only one call at a time may move a state");
}

State::Use::~Use() {
  state_.used_ = false;
}

void State::Use::follow(bool unchanged) {
  if (unchanged) return;
  State& s = state_;
  if (s.states_.front() != TensorStamp(s.chains_.x)) {
    check_states(s.target_->space(), s.chains_.x, "the states");
    if (const auto bounds = bounds_of(s.target_->model())) {
      require_within(*bounds, s.chains_.x, "the states");
    }
    return renew();
  }
  if (s.target_->stamps() != s.tensors_) return renew();
  if (!s.target_->calls_python()) return;
  const Evaluation& current = s.chains_.current;
  const Evaluation now = evaluated(*s.sampler_, s.target_->model(), s.chains_.x);
  if (same(now.energy, current.energy) && same(now.gradient, current.gradient) &&
      same(now.differences, current.differences)) {
    return;
  }
  renew();
}

void State::Use::renew() {
  state_.tensors_ = state_.target_->stamps();
  state_.sampler_->reevaluate(state_.target_->model(), state_.chains_);
  state_.states_ = {TensorStamp(state_.chains_.x)};
}

StepInfo State::Use::steps(int64_t n) {
  State& s = state_;
  EnergyModel& model = s.target_->model();
  return made(n == 1 ? s.sampler_->step(model, s.chains_, s.params_)
                     : s.sampler_->steps(model, s.chains_, s.params_, n),
              n);
}

StepInfo State::Use::burn_in_step(int64_t t, int64_t total) {
  State& s = state_;
  const HasWarmup* warmup = s.sampler_->warmup();
  if (!warmup) return steps(1);
  return made(warmup->burn_in_step(s.target_->model(), s.chains_, s.params_, t, total), 1);
}

StepInfo State::Use::made(const StepInfo& info, int64_t steps) {
  state_.steps_ += steps;
  state_.evaluations_ += info.evaluations;
  state_.states_ = {TensorStamp(state_.chains_.x)};
  return info;
}

py::dict State::state_dict() const {
  State& own = const_cast<State&>(*this);  // Its tensors are only read.
  py::dict saved;
  saved[kSampler] = spec_.name;
  saved[kOptions] = object_of(json_of(spec_.options));
  saved[kSteps] = steps_;
  saved[kEvaluations] = evaluations_;
  saved[kParameters] = parameters_sha256(target_->model());
  for (const auto& [name, tensor] : tensors_of(own.chains_, own.params_)) {
    if (tensor->defined()) saved[name.c_str()] = tensor->clone();
  }
  py::dict learned;
  if (const HasWarmup* warmup = sampler_->warmup()) {
    for (const auto& [name, tensor] : warmup->learned(chains_)) {
      learned[name.c_str()] = tensor.clone();
    }
  }
  saved[kLearned] = learned;
  return saved;
}

void State::load_state_dict(const py::dict& saved) {
  const TargetUse turn(*target_);
  Use use(*this);
  const auto name = py::cast<std::string>(entry(saved, kSampler));
  require(name == spec_.name, "the state dict is that of the sampler {}, but the state has {}",
          name, spec_.name);
  require(sampler_values(entry(saved, kOptions), name) == spec_.options,
          "the state dict is that of {} with other options", name);
  const auto places = tensors_of(chains_, params_);
  std::vector<torch::Tensor> tensors;
  for (const auto& [key, place] : places) {
    tensors.push_back(place->defined() ? tensor_in(saved, key) : torch::Tensor());
    const torch::Tensor& tensor = tensors.back();
    if (!tensor.defined()) continue;
    require(tensor.sizes() == place->sizes() && tensor.scalar_type() == place->scalar_type(),
            "the state dict holds '{}' as {} [{}], but the state has {} [{}]", key,
            torch::toString(tensor.scalar_type()), fmt::join(tensor.sizes(), ", "),
            torch::toString(place->scalar_type()), fmt::join(place->sizes(), ", "));
  }
  const torch::Tensor x = tensor_in(saved, "x").to(target_->device());
  check_states(target_->space(), x, "the states");
  if (const auto bounds = bounds_of(target_->model())) require_within(*bounds, x, "the states");
  const auto steps = py::cast<int64_t>(entry(saved, kSteps));
  const auto evaluations = py::cast<int64_t>(entry(saved, kEvaluations));
  const auto parameters = py::cast<std::string>(entry(saved, kParameters));
  NamedTensors learned;
  for (const auto& [key, tensor] : py::dict(entry(saved, kLearned))) {
    learned.emplace_back(py::cast<std::string>(key), py::cast<torch::Tensor>(tensor));
  }
  require(learned.empty() || sampler_->warmup(),
          "the state dict holds learned tensors, but {} learns none", name);
  if (!learned.empty()) sampler_->warmup()->restore(chains_, learned);
  const TorchStateGuard guard;
  chains_.x.copy_(x);
  use.renew();  // Renews what the sampler keeps besides the tensors of the dictionary.
  for (size_t i = 0; i < places.size(); ++i) {
    if (tensors[i].defined()) places[i].second->copy_(tensors[i]);
  }
  steps_ = steps;
  first_step_ = params_.step() - steps_;
  evaluations_ = evaluations;
  states_ = {TensorStamp(chains_.x)};
  if (parameters != parameters_sha256(target_->model())) use.renew();
}

py::tuple State::pickled() const {
  return py::make_tuple(target_object_, spec_.name, object_of(json_of(spec_.options)),
                        state_dict());
}

std::shared_ptr<State> State::unpickled(const py::tuple& saved) {
  const auto name = py::cast<std::string>(saved[1]);
  require(saved.size() == 4, "a pickled state of {} was made by another version", name);
  const auto tensors = py::cast<py::dict>(saved[3]);
  auto state =
      std::make_shared<State>(saved[0], SamplerSpec{name, sampler_values(saved[2], name)},
                              tensor_in(tensors, "x"), tensor_in(tensors, "chain_ids"), 0, 0);
  state->load_state_dict(tensors);
  return state;
}

int State::visit(visitproc visit, void* arg) const {
  Py_VISIT(target_object_.ptr());
  return 0;
}

}  // namespace isinglass::python
