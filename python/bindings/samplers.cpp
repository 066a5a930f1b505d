// Samplers step by step: init(target, x) → state, step(target, state) → info, as in the engine.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/utils/pybind.h>

#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "io/error.h"
#include "lab/run/assemble.h"
#include "lab/spec/configuration.h"
#include "python/bindings/guest.h"
#include "python/bindings/target.h"
#include "python/bindings/values.h"

namespace isinglass::python {
namespace {

using TargetPointer = std::shared_ptr<Target>;
using MaybeTensor = std::optional<torch::Tensor>;

// Chains of a sampler on a target: all that changes.
struct State {
  TargetPointer target;
  std::shared_ptr<Sampler> sampler;
  SamplerSpec resolved;  // the sampler with its defaults on this target
  ChainState chains;
  StepParams params;
  int64_t changes = 0;  // of the target's parameters when the energies were computed
  int64_t steps = 0, evaluations = 0;
};

struct Info {
  int64_t evaluations;  // model calls a chain
  torch::Tensor acceptance, hops;
};

// The numbers of a step are the state's own.
py::dict scale_of(const State& state) {
  py::dict scale;
  const std::vector<Scale> scales = state.sampler->scales();
  const torch::Tensor values = state.params.scale.cpu();
  for (size_t i = 0; i < scales.size(); ++i) {
    scale[python_name(scales[i].name).c_str()] = values[static_cast<int64_t>(i)].item<double>();
  }
  return scale;
}

// A sampler by name and options; what it comes to depends on the target.
class NamedSampler {
 public:
  NamedSampler(const std::string& name, const py::dict& options, uint64_t seed) : seed_(seed) {
    find_sampler(name);
    spec_ = {name, sampler_values(options, name)};
    for (const auto& [option, value] : spec_.options) {
      require_options(find_sampler(name).option(option), "`{}` is not an option of {}; it reads {}",
                      option, name, names_of(find_sampler(name)));
    }
  }

  std::shared_ptr<State> init(const TargetPointer& target, const MaybeTensor& x,
                              const std::optional<int64_t>& chains,
                              const std::optional<uint64_t>& seed, const MaybeTensor& chain_ids,
                              int64_t step) {
    // Without a seed every start has random numbers of its own: keys of Philox that differ.
    constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;
    const uint64_t key = seed ? *seed : seed_ + starts_++ * kOdd;
    require_options(step >= 0, "`step` is {}; at least 0 is needed", step);
    require(!x || x->dim() == 2, "x has {} dimensions; states are [B, D]", x ? x->dim() : 0);
    require_options(!x || !chains || *chains == x->size(0), "`chains` is {}, but x holds {} states",
                    chains.value_or(0), x ? x->size(0) : 0);
    require_options(!chains || *chains >= 1, "`chains` is {}; at least 1 is needed",
                    chains.value_or(0));
    const torch::Device device = target->device();
    require(!x || x->device() == device, "x is on {}, and the target on {}",
            x ? x->device().str() : "", device.str());
    const Guest guest;
    auto state = std::make_shared<State>();
    const int64_t count = x ? x->size(0) : chains.value_or(kDefaultChains);
    const torch::Tensor ids = ids_of(chain_ids, count, device);
    state->target = target;
    state->sampler = sampler_of(spec_, target->model());
    state->resolved = resolved(spec_, target->model());
    state->changes = target->changes();
    state->chains = state->sampler->init(
        target->model(), x ? *x : random_states(target->space(), ids, key, device), ids);
    state->params = state->sampler->params(key, device, step);
    return state;
  }

  Info step(const TargetPointer& target, State& state) const {
    own(target, state);
    const Guest guest;
    follow_changes(state);
    return made(state, state.sampler->step(target->model(), state.chains, state.params), 1);
  }

  // So many steps; between them Python may interrupt. Burn-in: the sampler adapts.
  void steps(const TargetPointer& target, const std::shared_ptr<State>& state, int64_t count,
             bool burn_in) const {
    own(target, *state);
    require_options(count >= 0, "`steps` is {}; at least 0 is needed", count);
    Interrupts interrupts;
    {
      const Guest guest;
      follow_changes(*state);
      const int64_t at_once = burn_in ? 1 : state->sampler->steps_at_once(state->chains);
      for (int64_t t = 0; t < count && !interrupts.requested();) {
        const int64_t n = std::min(at_once, count - t);
        Sampler& sampler = *state->sampler;
        const StepInfo info =
            burn_in ? sampler.burn_in_step(target->model(), state->chains, state->params, t, count)
                    : sampler.steps(target->model(), state->chains, state->params, n);
        made(*state, info, n);
        t += n;
      }
    }
    raise(interrupts);
  }

  static void renew(State& state) {
    const Guest guest;
    state.changes = state.target->changes();
    state.sampler->renew(state.target->model(), state.chains);
  }

  const std::string& name() const { return spec_.name; }
  uint64_t seed() const { return seed_; }
  py::dict options() const { return object_of(json_of(spec_.options)); }

  std::string text() const {
    std::string text;
    for (const auto& [name, value] : spec_.options) {
      text += fmt::format(", {}={}", python_name(name), value_text(value));
    }
    return fmt::format("<isinglass.Sampler {}{}>", spec_.name, text);
  }

 private:
  static std::string names_of(const SamplerEntry& entry) {
    std::vector<std::string> names;
    for (const SamplerOptionUse& use : entry.options) names.push_back(python_name(use.name));
    return names.empty() ? "no options" : fmt::format("{}", fmt::join(names, ", "));
  }

  static torch::Tensor ids_of(const MaybeTensor& given, int64_t count, torch::Device device) {
    const auto whole = torch::TensorOptions(torch::kInt64).device(device);
    if (!given) return torch::arange(count, whole);
    require_options(
        given->dim() == 1 && given->size(0) == count && given->scalar_type() == torch::kInt64,
        "`chain-ids` must be an int64 tensor of {} numbers, one a chain", count);
    return given->to(device);
  }

  void own(const TargetPointer& target, const State& state) const {
    require(state.target == target, "the state is of another target, {}; init() makes one of this",
            state.target->model().title());
    require(state.resolved.name == spec_.name, "the state is of the sampler {}, not of {}",
            state.resolved.name, spec_.name);
  }

  // A module that has been trained since has other energies.
  static void follow_changes(State& state) {
    const int64_t now = state.target->changes();
    if (now == state.changes) return;
    state.changes = now;
    state.sampler->renew(state.target->model(), state.chains);
  }

  static Info made(State& state, const StepInfo& info, int64_t steps) {
    state.steps += steps;
    state.evaluations += info.evaluations;
    const Statistics& statistics = state.chains.statistics;
    return {info.evaluations, statistics.acceptance, statistics.hops};
  }

  static void raise(const Interrupts& interrupts) {
    const py::object error = interrupts.exception();
    if (error.is_none()) return;
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
    throw py::error_already_set();
  }

  SamplerSpec spec_;
  uint64_t seed_, starts_ = 0;
};

std::string text_of(const State& state) {
  return fmt::format("<isinglass.State of {}: {} chains of {} sites after {} steps>",
                     state.resolved.name, state.chains.chains(), state.chains.sites(), state.steps);
}

}  // namespace

void add_samplers(py::module_& module) {
  using Pointer = std::shared_ptr<State>;
  py::class_<Info>(module, "Info", "What a step cost and did.")
      .def_readonly("evaluations", &Info::evaluations, "Model calls a chain.")
      .def_readonly("acceptance", &Info::acceptance,
                    "The acceptance probability of each chain, float64 [B]: the state's, live.")
      .def_readonly("hops", &Info::hops, "Sites that changed, int64 [B]: the state's, live.");

  py::class_<State, Pointer>(module, "State", R"(Chains and all that changes with them.

Its tensors are live: the next step writes to them. Clone what is to stay.)")
      .def_property_readonly(
          "x", [](const State& s) { return s.chains.x; }, "The states [B, D].")
      .def_property_readonly(
          "energy", [](const State& s) { return s.chains.current.untempered(); },
          "U(x), float64 [B].")
      .def_property_readonly(
          "gradient",
          [](const State& s) -> py::object {
            const torch::Tensor& g = s.chains.current.gradient;
            return g.defined() ? py::cast(g) : py::none();
          },
          "∇U(x), float32, if the sampler uses it.")
      .def_property_readonly(
          "acceptance", [](const State& s) { return s.chains.statistics.acceptance; },
          "Acceptance probabilities of the last step, float64 [B].")
      .def_property_readonly(
          "hops", [](const State& s) { return s.chains.statistics.hops; },
          "Sites that the last step changed, int64 [B].")
      .def_property_readonly(
          "mean_acceptance",
          [](const State& s) {
            return (s.chains.statistics.acceptance_sum / std::max<int64_t>(s.steps, 1)).mean();
          },
          "The mean over chains and steps so far, a tensor of one number.")
      .def_property_readonly(
          "chain_ids", [](const State& s) { return s.chains.chain_ids; },
          "The numbers of the chains, int64 [B]; with the seed and the step they "
          "decide the random numbers.")
      .def_readonly("steps", &State::steps, "Steps made, burn-in included.")
      .def_readonly("evaluations", &State::evaluations, "Model calls a chain so far.")
      .def_readonly("target", &State::target, "Whose states they are.")
      .def_property_readonly("scale", &scale_of,
                             "The numbers that may adapt, such as {'radius': 5.0}.")
      .def("__repr__", &text_of);

  py::class_<NamedSampler>(module, "Sampler", "A sampler by name, with its options.")
      .def(py::init<const std::string&, const py::dict&, uint64_t>())
      .def("init", &NamedSampler::init, py::arg("target"), py::arg("x") = py::none(), py::kw_only(),
           py::arg("chains") = py::none(), py::arg("seed") = py::none(),
           py::arg("chain_ids") = py::none(), py::arg("step") = 0,
           R"(The state of chains that begin at x, [B, D]; without x at random states.

The target is called once. Draws follow from the seed, chain_ids (0 … B − 1 unless given) and the
number of the step, from `step` on: equal ones are equal bit for bit. Without a seed every call has
random numbers of its own, which follow from the sampler's seed and how many calls came before.)")
      .def("step", &NamedSampler::step, py::arg("target"), py::arg("state"),
           R"(One transition of all chains, in place. Returns what it cost and did.

Where a parameter of the target has been written to since, energies are computed again first.)")
      .def(
          "steps",
          [](const NamedSampler& s, const TargetPointer& target, const Pointer& state,
             int64_t count) {
            s.steps(target, state, count, false);
            return state;
          },
          py::arg("target"), py::arg("state"), py::arg("count"),
          "So many steps, several a call of a kernel where the sampler can. Returns the state.")
      .def(
          "burn_in",
          [](const NamedSampler& s, const TargetPointer& target, const Pointer& state,
             int64_t count) {
            s.steps(target, state, count, true);
            return state;
          },
          py::arg("target"), py::arg("state"), py::arg("count"),
          "So many steps from which the sampler learns what it adapts. Returns the state.")
      .def(
          "run",
          [](NamedSampler& s, const TargetPointer& target, const MaybeTensor& x, int64_t steps,
             int64_t burn_in, const std::optional<int64_t>& chains,
             const std::optional<uint64_t>& seed, const MaybeTensor& chain_ids, int64_t step) {
            const Pointer state = s.init(target, x, chains, seed, chain_ids, step);
            if (burn_in > 0) s.steps(target, state, burn_in, true);
            s.steps(target, state, steps, false);
            return state;
          },
          py::arg("target"), py::arg("x") = py::none(), py::kw_only(), py::arg("steps"),
          py::arg("burn_in") = 0, py::arg("chains") = py::none(), py::arg("seed") = py::none(),
          py::arg("chain_ids") = py::none(), py::arg("step") = 0,
          "init(), burn_in() and steps() in one: the state after them.")
      .def_static("renew", &NamedSampler::renew, py::arg("state"),
                  "Computes the energies of the chains again: for targets that have changed in a "
                  "way that tensors do not count, such as a plain function's.")
      .def_property_readonly("name", &NamedSampler::name, "Its name.")
      .def_property_readonly("options", &NamedSampler::options, "The options that were said.")
      .def_property_readonly("seed", &NamedSampler::seed, "The seed of starts without their own.")
      .def("__repr__", &NamedSampler::text);
}

}  // namespace isinglass::python
