// Exposes samplers step by step, as in the engine: init(target, x) → state, step(target, state) →
// info.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/utils/pybind.h>

#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "io/error.h"
#include "lab/run/assemble.h"
#include "lab/spec/configuration.h"
#include "python/bindings/state.h"
#include "python/bindings/torch_state_guard.h"
#include "python/bindings/values.h"

namespace isinglass::python {
namespace {

using TargetPointer = std::shared_ptr<Target>;
using MaybeTensor = std::optional<torch::Tensor>;

struct Info {
  int64_t evaluations;  // Counts model calls per chain.
  torch::Tensor acceptance, hops;
};

// Holds a sampler's name and options. Defaults that depend on the target are resolved in init().
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

  std::shared_ptr<State> init(const TargetPointer& target, const std::optional<GivenStates>& given,
                              const std::optional<int64_t>& chains,
                              const std::optional<uint64_t>& seed, const MaybeTensor& chain_ids,
                              int64_t step) {
    // Without a seed, every start has random numbers of its own, from different Philox keys.
    constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;
    const TargetUse use(*target);
    const uint64_t key = seed ? *seed : seed_ + starts_++ * kOdd;
    require_options(step >= 0 && static_cast<double>(step) <= kLargestStep,
                    "`step` is {}; 0 to {:.0f} are possible, because steps are numbered by 32 bits",
                    step, kLargestStep);
    const torch::Device device = target->device();
    torch::Tensor x;
    if (given) {
      x = given->tensor;
      require(x.dim() == 2, "x has {} dimensions; states are [B, D]", x.dim());
      require_options(!chains || *chains == x.size(0), "`chains` is {}, but x holds {} states",
                      chains.value_or(0), x.size(0));
      require(x.device() == device, "x is on {}, but the target is on {}", x.device().str(),
              device.str());
    }
    const int64_t count = given ? x.size(0) : chains.value_or(kDefaultChains);
    require_options(count >= 1 || given, "`chains` is {}; at least 1 is needed", count);
    const torch::Tensor ids = ids_of(chain_ids, count, device);
    if (!given) {
      const TorchStateGuard guard;
      x = random_states(target->model(), ids, key, device);
    }
    auto state = std::make_shared<State>(py::cast(target), spec_, x, ids, key, step);
    warn(state->inexactness());
    return state;
  }

  Info step(const TargetPointer& target, State& state, bool unchanged) const {
    own(target, state);
    require_numbers_for(1, state);
    StepInfo info;
    {
      const TargetUse turn(*target);
      const TorchStateGuard guard;
      State::Use use(state);
      use.follow(unchanged);
      info = use.steps(1);
    }
    const Statistics& statistics = state.chains().statistics;
    return {info.evaluations, statistics.acceptance, statistics.hops};
  }

  // Makes `count` steps, between which Python may interrupt. The sampler adapts if burn_in.
  void steps(const TargetPointer& target, const std::shared_ptr<State>& state, int64_t count,
             bool burn_in, bool unchanged) const {
    own(target, *state);
    require_options(count >= 0, "`steps` is {}; at least 0 is needed", count);
    require_numbers_for(count, *state);
    Interrupts interrupts;
    {
      const TargetUse turn(*target);
      const TorchStateGuard guard;
      State::Use use(*state);
      if (count > 0) use.follow(unchanged);
      const int64_t at_once = burn_in ? 1 : state->sampler().steps_at_once(state->chains());
      for (int64_t t = 0; t < count && !interrupts.requested();) {
        const int64_t n = std::min(at_once, count - t);
        burn_in ? use.burn_in_step(t, count) : use.steps(n);
        t += n;
      }
    }
    raise(interrupts);
  }

  static void renew(State& state) {
    const TargetUse turn(state.target());
    const TorchStateGuard guard;
    State::Use(state).renew();
  }

  py::tuple pickled() const { return py::make_tuple(spec_.name, options(), seed_, starts_); }
  static NamedSampler unpickled(const py::tuple& state) {
    NamedSampler sampler(py::cast<std::string>(state[0]), state[1], py::cast<uint64_t>(state[2]));
    sampler.starts_ = py::cast<uint64_t>(state[3]);
    return sampler;
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
        "`chain-ids` must be an int64 tensor of {} numbers, one per chain", count);
    return given->to(device);
  }

  void own(const TargetPointer& target, const State& state) const {
    require(&state.target() == target.get(),
            "the state belongs to another target, {}; init() makes a state of this one",
            state.target().model().title());
    require(state.sampler_name() == spec_.name, "the state belongs to the sampler {}, not to {}",
            state.sampler_name(), spec_.name);
  }

  // Throws Error if random draws have fewer step numbers left.
  static void require_numbers_for(int64_t count, const State& state) {
    const int64_t left = static_cast<int64_t>(kLargestStep) + 1 - state.next_step();
    require_options(count <= left,
                    "`steps` is {}; {} are left, because steps are numbered by 32 bits", count,
                    left);
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

std::string state_text(const State& state) {
  return fmt::format("<isinglass.State of {}: {} chains of {} sites after {} steps>",
                     state.sampler_name(), state.chains().chains(), state.chains().sites(),
                     state.steps());
}

}  // namespace

void add_samplers(py::module_& module) {
  using Pointer = std::shared_ptr<State>;
  py::class_<Info>(module, "Info", R"(The cost and the outcome of a step.

Example:
    >>> import isinglass as ig
    >>> target = ig.instance("ising-grid:side=4,coupling=0.3")
    >>> sampler = ig.sampler("gwg")
    >>> state = sampler.init(target, chains=8, seed=1)
    >>> info = sampler.step(target, state)
    >>> info.evaluations, info.acceptance.shape, info.hops.dtype
    (1, torch.Size([8]), torch.int64))")
      .def(py::pickle(
          [](const Info& i) { return py::make_tuple(i.evaluations, i.acceptance, i.hops); },
          [](const py::tuple& saved) {
            return Info{py::cast<int64_t>(saved[0]), py::cast<torch::Tensor>(saved[1]),
                        py::cast<torch::Tensor>(saved[2])};
          }))
      .def_readonly("evaluations", &Info::evaluations, "Model calls per chain.")
      .def_readonly("acceptance", &Info::acceptance,
                    "The acceptance probability of each chain, float64 [B]: the state's own "
                    "tensor, which the next step overwrites.")
      .def_readonly("hops", &Info::hops,
                    "The number of sites that changed in each chain, int64 [B]: the state's own "
                    "tensor, which the next step overwrites.");

  py::class_<State, Pointer>(
      module, "State", collected<State>(),
      R"(The chains of a sampler, with everything that changes from step to step.

Its tensors are not copies: the next step writes to them. Clone those that you want to keep. A state
can be pickled, and continues bit for bit afterwards. Sampler.init makes states.

Example:
    >>> import isinglass as ig
    >>> target = ig.instance("ising-grid:side=4,coupling=0.3")
    >>> sampler = ig.sampler("pafs", radius=3)
    >>> state = sampler.steps(target, sampler.init(target, chains=8, seed=1), 20)
    >>> state.x.shape, state.energy.shape, state.gradient.shape
    (torch.Size([8, 16]), torch.Size([8]), torch.Size([8, 16]))
    >>> state.steps, state.scale
    (20, {'radius': 3.0}))")
      .def_property_readonly(
          "x", [](const State& s) { return s.chains().x; }, "The states [B, D].")
      .def_property_readonly(
          "energy", [](const State& s) { return s.chains().current.untempered(); },
          "The energies U(x) in nats, float64 [B].")
      .def_property_readonly(
          "gradient",
          [](const State& s) -> py::object {
            const torch::Tensor& g = s.chains().current.gradient;
            return g.defined() ? py::cast(g) : py::none();
          },
          R"(The gradient ∇U(x), float32 [B, D], or [B, D, K] for categorical sites; None if the
sampler does not use it.)")
      .def_property_readonly(
          "acceptance", [](const State& s) { return s.chains().statistics.acceptance; },
          "The acceptance probabilities of the last step, float64 [B].")
      .def_property_readonly(
          "hops", [](const State& s) { return s.chains().statistics.hops; },
          "The number of sites that the last step changed in each chain, int64 [B].")
      .def_property_readonly(
          "mean_acceptance",
          [](const State& s) {
            return (s.chains().statistics.acceptance_sum / std::max<int64_t>(s.steps(), 1)).mean();
          },
          "The mean acceptance over chains and steps so far, a tensor of one number.")
      .def_property_readonly(
          "chain_ids", [](const State& s) { return s.chains().chain_ids; },
          "The numbers of the chains, int64 [B]; with the seed and the step they "
          "decide the random numbers.")
      .def_property_readonly("steps", &State::steps,
                             "The number of steps so far, burn-in included.")
      .def_property_readonly("evaluations", &State::evaluations,
                             "Model calls per chain of the steps so far.")
      .def_property_readonly(
          "target", [](const State& s) { return s.target_object(); }, "The target of the chains.")
      .def_property_readonly(
          "scale", &State::scale,
          "The current values of the options that burn-in may adapt, such as {'radius': 5.0}.")
      .def("state_dict", &State::state_dict,
           R"(Copies all that the next step depends on, besides the target: states, energies, random
numbers, adapted options and what the sampler has learned.

Returns:
    a dictionary of tensors, numbers and texts, which torch.save writes, and which torch.load reads
    with weights_only=True.

Example:
    >>> import io, torch, isinglass as ig
    >>> target = ig.instance("ising-grid:side=4,coupling=0.3")
    >>> sampler = ig.sampler("gwg")
    >>> state = sampler.init(target, chains=8, seed=1)
    >>> torch.save(state.state_dict(), "chains.pt")
    >>> again = sampler.init(target, chains=8)
    >>> again.load_state_dict(torch.load("chains.pt"))
    >>> one, other = sampler.step(target, state), sampler.step(target, again)
    >>> torch.equal(state.x, again.x)
    True)")
      .def("load_state_dict", &State::load_state_dict, py::arg("state_dict"),
           R"(Continues the chains of a state dict: the next step gives the same bits. If the
parameters of the target have changed since, the energies are computed again.

Args:
    state_dict: what state_dict() returned, of the same sampler with the same options and as many
        chains.

Raises:
    Error: if it belongs to another sampler or other options, or if a tensor is missing or does not
        fit; the state is then as before.)")
      .def(py::pickle([](const State& one) { return one.pickled(); },
                      [](const py::tuple& saved) { return State::unpickled(saved); }))
      .def("__repr__", &state_text);

  py::class_<NamedSampler>(module, "Sampler", R"(A sampler by name, with its options.

It holds no states: init() makes a State, and the other methods change that one in place. Only one
call at a time may move a state; different threads may move different states. isinglass.sampler and
isinglass.samplers make samplers.

Example:
    >>> import isinglass as ig
    >>> target = ig.instance("ising-grid:side=4,coupling=0.3")
    >>> sampler = ig.sampler("lbj", adapt=True)
    >>> state = sampler.init(target, chains=8, seed=1)
    >>> state = sampler.burn_in(target, state, 50)  # adapts tau
    >>> info = sampler.step(target, state)
    >>> state.steps, info.hops.shape
    (51, torch.Size([8])))")
      .def(py::init<const std::string&, const py::dict&, uint64_t>())
      .def(
          "init",
          [](NamedSampler& s, const GivenTarget& target, const std::optional<GivenStates>& x,
             const std::optional<int64_t>& chains, const std::optional<uint64_t>& seed,
             const MaybeTensor& chain_ids,
             int64_t step) { return s.init(target.pointer, x, chains, seed, chain_ids, step); },
          py::arg("target"), py::arg("x") = py::none(), py::kw_only(),
          py::arg("chains") = py::none(), py::arg("seed") = py::none(),
          py::arg("chain_ids") = py::none(), py::arg("step") = 0,
          R"(Makes the state of chains that start at x, or at random states.

The target is called once. The random numbers follow from the seed, the number of the chain and the
number of the step: equal values give equal draws, bit for bit.

Args:
    target: the target to sample from.
    x: the states from which chains start [B, D] in the target's dtype, on its device; random states
        unless given.
    chains: the number of chains B (default: that of x, else 100).
    seed: the seed of the random numbers, at least 0. Without a seed, every call has random numbers
        of its own, which follow from the sampler's seed and the number of earlier calls.
    chain_ids: the numbers of the chains, int64 [B] (default: 0 … B − 1).
    step: the number of the first step, from 0 to 4294967295.

Returns:
    the state, which step(), steps() and burn_in() move.

Raises:
    Error: if the sampler cannot move the target's states, an argument is not allowed, or the energy
        or the gradient is not finite at a start.)")
      .def(
          "step",
          [](const NamedSampler& s, const GivenTarget& target, State& state, bool unchanged) {
            return s.step(target.pointer, state, unchanged);
          },
          py::arg("target"), py::arg("state"), py::kw_only(), py::arg("unchanged") = false,
          R"(Makes one step of all chains, in place.

If a parameter of the target or a state was written to after the last step, the energies are
computed again first. For a callable this cannot be detected: every call of step(), steps() and
burn_in() begins with one more call of it, unless unchanged=True.

Args:
    target: the target of the state.
    state: the chains, which the step moves.
    unchanged: True asserts that neither the callable nor the states have changed.

Returns:
    the cost of the step and its outcome.

Raises:
    Error: if the state belongs to another target or sampler, or another call is moving it.)")
      .def(
          "steps",
          [](const NamedSampler& s, const GivenTarget& target, const Pointer& state, int64_t count,
             bool unchanged) {
            s.steps(target.pointer, state, count, false, unchanged);
            return state;
          },
          py::arg("target"), py::arg("state"), py::arg("count"), py::kw_only(),
          py::arg("unchanged") = false,
          R"(Makes `count` steps of all chains, in place; a kernel call makes several steps if
the sampler can.

Args:
    target: the target of the state.
    state: the chains, which the steps move.
    count: the number of steps, at least 0.
    unchanged: True asserts that neither the callable nor the states have changed, as for step().

Returns:
    the state that was given.

Raises:
    Error: if the state belongs to another target or sampler, or another call is moving it.)")
      .def(
          "burn_in",
          [](const NamedSampler& s, const GivenTarget& target, const Pointer& state, int64_t count,
             bool unchanged) {
            s.steps(target.pointer, state, count, true, unchanged);
            return state;
          },
          py::arg("target"), py::arg("state"), py::arg("count"), py::kw_only(),
          py::arg("unchanged") = false,
          R"(Makes `count` steps, in place, in which the sampler adapts its options and learns
its tensors.

Args:
    target: the target of the state.
    state: the chains, which the steps move.
    count: the number of steps, at least 0.
    unchanged: True asserts that neither the callable nor the states have changed, as for step().

Returns:
    the state that was given.

Raises:
    Error: if the state belongs to another target or sampler, or another call is moving it.)")
      .def(
          "run",
          [](NamedSampler& s, const GivenTarget& given, const std::optional<GivenStates>& x,
             int64_t steps, int64_t burn_in, const std::optional<int64_t>& chains,
             const std::optional<uint64_t>& seed, const MaybeTensor& chain_ids, int64_t step) {
            const TargetPointer& target = given.pointer;
            const Pointer state = s.init(target, x, chains, seed, chain_ids, step);
            if (burn_in > 0) s.steps(target, state, burn_in, true, true);
            s.steps(target, state, steps, false, true);
            return state;
          },
          py::arg("target"), py::arg("x") = py::none(), py::kw_only(), py::arg("steps"),
          py::arg("burn_in") = 0, py::arg("chains") = py::none(), py::arg("seed") = py::none(),
          py::arg("chain_ids") = py::none(), py::arg("step") = 0,
          R"(Calls init(), burn_in() and steps().

Args:
    target: the target to sample from.
    x: the states from which chains start [B, D] in the target's dtype, on its device; random states
        unless given.
    steps: the number of steps after burn-in, at least 0.
    burn_in: the number of steps in which the sampler adapts.
    chains: the number of chains B (default: that of x, else 100).
    seed: the seed of the random numbers, at least 0. Without a seed, every call has random numbers
        of its own, which follow from the sampler's seed and the number of earlier calls.
    chain_ids: the numbers of the chains, int64 [B] (default: 0 … B − 1).
    step: the number of the first step, from 0 to 4294967295.

Returns:
    the state after all steps.

Raises:
    Error: as init() and steps() do.)")
      .def_static(
          "renew", &NamedSampler::renew, py::arg("state"),
          R"(Computes the energies of the chains again. This is needed after states were written
to in a way that torch does not count as a change of the tensor, such as through
`.data`.

Args:
    state: the chains.)")
      .def(py::pickle([](const NamedSampler& one) { return one.pickled(); },
                      [](const py::tuple& saved) { return NamedSampler::unpickled(saved); }))
      .def_property_readonly("name", &NamedSampler::name,
                             "The sampler's name in the registry, such as pafs.")
      .def_property_readonly("options", &NamedSampler::options,
                             "The options that were given, by name.")
      .def_property_readonly("seed", &NamedSampler::seed,
                             "The seed of starts that have no seed of their own.")
      .def("__repr__", &NamedSampler::text);
}

}  // namespace isinglass::python
