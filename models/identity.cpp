// Implements the identification of models by parameters and by energies at fixed states.
#include "models/identity.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <torch/version.h>

#include <algorithm>
#include <cmath>

#include "io/error.h"
#include "io/machine.h"
#include "io/numbers.h"
#include "io/pt/entries.h"
#include "io/sha256.h"
#include "kernels/ops/random.h"

namespace isinglass {
namespace {

constexpr int64_t kStates = 16;
constexpr int64_t kKey = 0x66756e6374696f6e;  // "function"
// Bounds the error of float32 sums of 10^6 terms, relative to the largest energy, with a margin for
// terms that cancel.
constexpr double kRounding = 1e-4;
constexpr const char* kVarying = "is rounded anew at every call";

// Returns the fixed states at which energies are compared. Half of them (all, for permutations) are
// drawn as chains are initialised. The others lie closer to the extreme values, as the states of
// converged chains do.
torch::Tensor fixed_states(const StateSpace& space) {
  const auto on_cpu = torch::TensorOptions(torch::kCPU);
  torch::Tensor x = torch::empty({kStates, space.sites}, on_cpu.dtype(space.dtype()));
  const torch::Tensor ids = torch::arange(kStates, on_cpu.dtype(torch::kInt64));
  if (space.kind == StateKind::kPermutation) {
    ops::permutation_rows(ids, kKey, 0, Purpose::kInitialState, x);
    return x;
  }
  using torch::indexing::None;
  using torch::indexing::Slice;
  if (!space.discrete()) {
    ops::normal_rows(ids, kKey, 0, Purpose::kInitialState, x);
    x.index({Slice(1, None, 2)}) *= 3;
    return x;
  }
  ops::uniform_rows(space.categories, ids, kKey, 0, Purpose::kInitialState, x);
  torch::Tensor quarter = torch::empty_like(x);
  ops::uniform_rows(4, ids, kKey, 1, Purpose::kInitialState, quarter);
  x.index({Slice(1, None, 4)}).masked_fill_(quarter.index({Slice(1, None, 4)}) > 0, 0);
  x.index({Slice(3, None, 4)})
      .masked_fill_(quarter.index({Slice(3, None, 4)}) > 0, space.categories - 1);
  return x;
}

// Returns a description of everything that determines how sums are rounded.
std::string arithmetic(torch::Device device) {
  cudaDeviceProp properties;
  if (device.is_cuda() &&
      cudaGetDeviceProperties(&properties, std::max<int>(0, device.index())) == cudaSuccess) {
    return fmt::format("{}, torch {}", properties.name, TORCH_VERSION);
  }
  return fmt::format("{}, {}, {} threads, torch {}", processor_name(), at::get_cpu_capability(),
                     at::get_num_threads(), TORCH_VERSION);
}

bool rounded_alike(const std::vector<double>& one, const std::vector<double>& other) {
  double largest = 0;
  for (const double u : one) {
    if (std::isfinite(u)) largest = std::max(largest, std::abs(u));
  }
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), [&](double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= kRounding * largest;
  });
}

bool same_bits(const std::vector<double>& one, const std::vector<double>& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); });
}

// Holds a function's energies at the fixed states, computed twice.
struct Known {
  std::vector<double> energies;  // empty if the two evaluations disagree
  bool varies = false;           // they agree only up to rounding
  bool computed = true;          // false if the energies cannot be computed
};

Known known(const EnergyModel& function, torch::Device device) {
  const torch::Tensor x = fixed_states(function.space()).to(device);
  const torch::Tensor twice = dynamic_cast<const OwnFunction&>(function).energies_twice(x);
  if (!twice.defined()) return {.energies = {}, .computed = false};
  std::vector<double> first = numbers(twice[0]), second = numbers(twice[1]);
  if (same_bits(first, second)) return {std::move(first)};
  if (rounded_alike(first, second)) return {std::move(first), /*varies=*/true};
  return {};
}

}  // namespace

std::string parameters_sha256(const EnergyModel& model) {
  NamedTensors tensors;
  for (const auto& entry : model.named_parameters()) {
    tensors.emplace_back(entry.key(), entry.value());
  }
  for (const auto& entry : model.named_buffers()) tensors.emplace_back(entry.key(), entry.value());
  return sha256(std::move(tensors));
}

bool has_tensors(const EnergyModel& model) {
  return !model.parameters().empty() || !model.buffers().empty();
}

std::vector<const EnergyModel*> own_functions(const EnergyModel& model) {
  std::vector<const EnergyModel*> functions;
  const auto look = [&](const torch::nn::Module* module) {
    if (!dynamic_cast<const OwnFunction*>(module)) return;
    functions.push_back(&dynamic_cast<const EnergyModel&>(*module));
  };
  look(&model);
  for (const auto& module : model.modules(/*include_self=*/false)) look(module.get());
  return functions;
}

PtDict function_identity(const EnergyModel& model, torch::Device device) {
  PtList energies;
  bool varies = false;
  for (const EnergyModel* function : own_functions(model)) {
    const Known one = known(*function, device);
    energies.push_back({torch::tensor(one.energies, torch::kFloat64)});
    varies = varies || one.varies;
  }
  return {{"arithmetic", {varies ? std::string(kVarying) : arithmetic(device)}},
          {"energies", {std::move(energies)}}};
}

void require_same_functions(const PtDict* saved, const EnergyModel& model, torch::Device device,
                            const std::string& what) {
  const std::vector<const EnergyModel*> functions = own_functions(model);
  std::string saved_by;
  PtList all;
  if (saved) {
    const PtEntries entries(*saved, what);
    const auto* by = entries.find<std::string>("arithmetic");
    const auto* lists = entries.find<PtList>("energies");
    require(by && lists && lists->size() == functions.size(),
            "{} belongs to a run with another number of functions", what);
    saved_by = *by;
    all = *lists;
  }
  for (size_t i = 0; i < functions.size(); ++i) {
    const Known is = known(*functions[i], device);
    std::vector<double> was;
    if (saved) {
      require(all[i].is_tensor(), "{} has energies of functions that are not tensors", what);
      was = numbers(std::get<torch::Tensor>(all[i].value));
    }
    if (was.empty() || is.energies.empty()) {
      require(has_tensors(*functions[i]),
              "it cannot be checked whether {} belongs to {}, which has no parameters: {}", what,
              functions[i]->title(),
              !saved                ? "it holds none of its energies"
              : !is.computed        ? "its energies at fixed states cannot be computed"
              : is.energies.empty() ? "its energies are not the same from call to call"
                                    : "its energies were not the same from call to call");
      continue;
    }
    const bool bits = !is.varies && saved_by == arithmetic(device);
    if (bits ? same_bits(was, is.energies) : rounded_alike(was, is.energies)) continue;
    size_t k = 0;
    while (k + 1 < was.size() && k + 1 < is.energies.size() && was[k] == is.energies[k]) ++k;
    fail(
        "{} belongs to a run with another function than {}, whose energy U at a fixed state was {} "
        "and is now {}",
        what, functions[i]->title(), was[k], is.energies[k]);
  }
}

std::optional<std::string> functions_sha256(const EnergyModel& model, torch::Device device) {
  NamedTensors tensors;
  for (const EnergyModel* function : own_functions(model)) {
    const Known one = known(*function, device);
    if (one.energies.empty()) return std::nullopt;
    tensors.emplace_back(std::to_string(tensors.size()),
                         torch::tensor(one.energies, torch::kFloat64));
  }
  if (tensors.empty()) return std::nullopt;
  return sha256(std::move(tensors));
}

}  // namespace isinglass
