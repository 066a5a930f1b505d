// Implements chains as a Python object: steps, checks for changes, pickling.
#include "python/bindings/state.h"

#include "io/error.h"
#include "lab/run/assemble.h"
#include "lab/spec/configuration.h"
#include "python/bindings/callable_model.h"
#include "python/bindings/torch_state_guard.h"
#include "python/bindings/values.h"

namespace isinglass::python {
namespace {

using MaybeTensor = std::optional<torch::Tensor>;

MaybeTensor maybe(const torch::Tensor& tensor) {
  return tensor.defined() ? MaybeTensor(tensor) : std::nullopt;
}

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

// Returns the tensors that carry over from step to step.
std::vector<torch::Tensor*> tensors_of(ChainState& chains, StepParams& params) {
  Statistics& s = chains.statistics;
  std::vector<torch::Tensor*> all = {&chains.current.energy,
                                     &chains.current.target,
                                     &chains.current.gradient,
                                     &chains.current.differences,
                                     &chains.workspace.cache,
                                     &s.acceptance,
                                     &s.hops,
                                     &s.acceptance_sum,
                                     &s.hops_sum,
                                     &s.non_finite,
                                     &params.rng,
                                     &params.scale};
  for (torch::Tensor& tensor : chains.current.cache) all.push_back(&tensor);
  return all;
}

}  // namespace

State::State(py::object target, SamplerSpec spec, const torch::Tensor& x, const torch::Tensor& ids,
             uint64_t seed, int64_t step)
    : target_object_(std::move(target)),
      target_(py::cast<Target::Pointer>(target_object_)),
      spec_(std::move(spec)),
      first_step_(step) {
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

py::tuple State::pickled() const {
  State& own = const_cast<State&>(*this);  // Its tensors are only read.
  py::list tensors;
  for (const torch::Tensor* tensor : tensors_of(own.chains_, own.params_)) {
    tensors.append(maybe(*tensor));
  }
  py::dict learned;
  if (const HasWarmup* warmup = sampler_->warmup()) {
    for (const auto& [name, tensor] : warmup->learned(chains_)) learned[name.c_str()] = tensor;
  }
  return py::make_tuple(target_object_, spec_.name, object_of(json_of(spec_.options)), chains_.x,
                        chains_.chain_ids, tensors, learned, steps_, evaluations_);
}

std::shared_ptr<State> State::unpickled(const py::tuple& saved) {
  const auto name = py::cast<std::string>(saved[1]);
  auto state = std::make_shared<State>(saved[0], SamplerSpec{name, sampler_values(saved[2], name)},
                                       py::cast<torch::Tensor>(saved[3]),
                                       py::cast<torch::Tensor>(saved[4]), 0, 0);
  NamedTensors learned;
  for (const auto& [key, tensor] : py::dict(saved[6])) {
    learned.emplace_back(py::cast<std::string>(key), py::cast<torch::Tensor>(tensor));
  }
  ChainState& chains = state->chains_;
  if (!learned.empty()) state->sampler_->warmup()->restore(chains, learned);
  const auto tensors = py::cast<std::vector<MaybeTensor>>(saved[5]);
  const std::vector<torch::Tensor*> places = tensors_of(chains, state->params_);
  require(tensors.size() == places.size(), "a pickled state of {} was made by another version",
          name);
  for (size_t i = 0; i < places.size(); ++i) {
    if (tensors[i] && places[i]->defined()) places[i]->copy_(*tensors[i]);
  }
  state->steps_ = py::cast<int64_t>(saved[7]);
  state->first_step_ = state->params_.step() - state->steps_;
  state->evaluations_ = py::cast<int64_t>(saved[8]);
  state->states_ = {TensorStamp(chains.x)};
  return state;
}

int State::visit(visitproc visit, void* arg) const {
  Py_VISIT(target_object_.ptr());
  return 0;
}

}  // namespace isinglass::python
