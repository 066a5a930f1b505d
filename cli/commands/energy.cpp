// isinglass energy: computes energies and gradients of given states. It writes a .pt dictionary.
// Its `energy` is float32 [N], and its `gradient`, of U in the relaxed state, is float32 [N, D], or
// [N, D, K] for categorical models. Models without gradients get none.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/terminal/interrupt.h"
#include "io/error.h"
#include "io/json.h"
#include "io/pt/pt_file.h"
#include "lab/run/assemble.h"
#include "lab/run/memory.h"
#include "lab/run/trained_model.h"
#include "lab/spec/field.h"
#include "models/energies.h"
#include "models/states.h"
#include "train/data/formats/format.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

fs::path output_file(const Options& options) {
  const fs::path out = options.path("out");
  require(!fs::is_directory(out), "--out {} is a directory, but it must be a file, such as E.pt",
          out.string());
  for (const char* input : {"states", "weights"}) {
    std::error_code missing;
    require(!options.has(input) || !fs::equivalent(out, options.path(input), missing),
            "--out {} is the same file as --{}, but it must be another one", out.string(), input);
  }
  return out;
}

// Throws Error if the memory does not hold the states, their gradients and the bytes of both files.
void check_memory(const StateSpace& space, int64_t states) {
  const double moves = static_cast<double>(space.sites) *
                       static_cast<double>(space.one_hot() ? space.categories : 1);
  require_memory(static_cast<double>(states) * moves * 12, torch::kCPU,
                 fmt::format("`states` with {} states", states));
}

std::string run_energy(const Options& options) {
  EnergySpec spec = spec_of<EnergySpec>(options.said());
  spec.model = as_trained(spec.model);
  const torch::Device device = device_of(options.text("device"));
  const fs::path out = output_file(options);
  const std::string states = options.text("states");
  const torch::Tensor given = read_array(states);
  const std::shared_ptr<EnergyModel> model =
      spec.model.instance.empty()
          ? model_of(spec.model, device, /*continuous=*/given.is_floating_point())
          : sampled_model(spec.model, {}, {}, device);
  if (spec.model.name.empty()) spec.model.name = model->kind_name();
  const torch::Tensor x = as_states(model->space(), given, "the states of " + states);
  require(x.size(0) > 0, "{} holds no states", states);
  check_memory(model->space(), x.size(0));

  const EnergyGrad result = model->differentiable()
                                ? energies_and_gradients(*model, x, device, interrupted)
                                : EnergyGrad{energies(*model, x, device), {}};
  if (interrupted()) throw Interrupted("no file was written");
  const bool finite = result.energy.isfinite().all().item<bool>() &&
                      (!result.gradient.defined() || result.gradient.isfinite().all().item<bool>());
  if (!finite) {
    throw NumericalError(
        fmt::format("the energy or its gradient is not finite at a state of {}", states));
  }
  PtDict file{{"energy", PtValue{result.energy}}};
  if (result.gradient.defined()) file.push_back({"gradient", PtValue{result.gradient}});
  write_pt(out, PtValue{std::move(file)});

  const double mean = result.energy.mean().item<double>();
  const double least = result.energy.min().item<double>();
  const double most = result.energy.max().item<double>();
  if (options.flag("json")) {
    const nlohmann::ordered_json energy = {{"mean", mean}, {"min", least}, {"max", most}};
    const nlohmann::ordered_json summary = {{"model", spec.model.name},
                                            {"states", x.size(0)},
                                            {"energy", energy},
                                            {"out", out.string()}};
    return text_of(summary, 2) + "\n";
  }
  return fmt::format("{} states of {}: energy {:.6g} to {:.6g}, mean {:.6g}; written to {}\n",
                     x.size(0), spec.model.name, least, most, mean, out.string());
}

}  // namespace

Command energy_command() {
  Command command{.name = "energy",
                  .summary = "compute energies and gradients of given states",
                  .options = options_of<EnergySpec>(),
                  .run = run_energy};
  Option out = out_option("the .pt file to write; required");
  out.unit = "FILE";
  append(command.options, {out});
  return command;
}

}  // namespace isinglass
