// Implements the model that calls a TorchScript module.
#include "models/network/script.h"

#include <fmt/ostream.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include "io/error.h"
#include "io/files.h"
#include "io/sha256.h"
#include "models/registry.h"
#include "models/text_tensor.h"

namespace isinglass {
namespace {

// Returns the last line of TorchScript's report, which is the message of the failure itself.
std::string last_line(std::string text) {
  text.erase(text.find_last_not_of(" \n") + 1);
  const size_t newline = text.rfind('\n');
  return newline == std::string::npos ? text : text.substr(newline + 1);
}

// Returns f(), and turns any failure into an Error that names the file.
template <class F>
auto reported(const std::string& file, const char* what, F f) {
  try {
    return f();
  } catch (const c10::Error& error) {
    fail("{}: {}: {}", file, what, last_line(error.what_without_backtrace()));
  } catch (const std::exception& error) {
    fail("{}: {}: {}", file, what, last_line(error.what()));
  }
}

}  // namespace

struct ScriptModel::Program {
  torch::jit::Module module;
  torch::Device device = torch::kCPU;
};

ScriptModel::ScriptModel(const std::filesystem::path& file, const StateSpace& space,
                         std::optional<int64_t> label)
    : file_(file.string()), space_(space), label_(label) {
  require(std::filesystem::is_regular_file(file), "{} does not exist or is not a file", file_);
  program_ = reported(file_, "the file is not a TorchScript module", [&] {
    auto program = std::make_unique<Program>(Program{torch::jit::load(file_, torch::kCPU)});
    program->module.eval();
    for (auto parameter : program->module.parameters()) parameter.set_requires_grad(false);
    return program;
  });
  // The hash identifies the program, as parameters identify other models.
  register_buffer("program", bytes_of(sha256(read_file(file))));
}

ScriptModel::~ScriptModel() = default;

torch::Tensor ScriptModel::energy(const torch::Tensor& x) {
  const torch::Tensor input = relaxed(x);
  const torch::Tensor output = call(input);
  if (!checked_) check_first(output, input.size(0));
  const torch::Tensor u = label_ ? -output.select(1, *label_) : output;
  require(!input.requires_grad() || u.requires_grad(),
          "{}: the script's output does not depend on its input by differentiable operations",
          file_);
  return u;
}

torch::Tensor ScriptModel::call(const torch::Tensor& input) {
  if (program_->device != input.device()) {
    program_->module.to(input.device());
    program_->device = input.device();
  }
  return reported(file_, "the script failed", [&] {
    // Optimisation is off, because recompiling after some calls would change the rounding of later
    // ones.
    const torch::jit::GraphOptimizerEnabledGuard plain(false);
    const c10::IValue output = program_->module.forward({input});
    require(output.isTensor(), "it must return a tensor");
    return output.toTensor();
  });
}

void ScriptModel::check_first(const torch::Tensor& output, int64_t states) {
  const bool fits =
      output.is_floating_point() && output.dim() == (label_ ? 2 : 1) && output.size(0) == states;
  require(fits, "{}: for {} states the script returned shape {}; it must be floating-point {} [{}]",
          file_, states, fmt::format("{}", fmt::streamed(output.sizes())),
          label_ ? "outputs of classes" : "energies",
          label_ ? fmt::format("{}, C", states) : fmt::format("{}", states));
  if (label_) {
    require_options(*label_ < output.size(1), "`class` is {}, but {} has {} outputs", *label_,
                    file_, output.size(1));
  }
  require((output > -INFINITY).all().item<bool>(),
          "{}: the script returned an energy that is -infinity or not a number", file_);
  checked_ = true;
}

namespace {

std::shared_ptr<EnergyModel> load_script(const ModelOptions& options) {
  require_options(options.sites.has_value(),
                  "model script needs `sites` D, because its file does not determine it");
  StateSpace space{StateKind::kBinary, *options.sites, options.categories.value_or(2)};
  if (options.categories) space.kind = StateKind::kCategorical;
  if (options.continuous) space.kind = StateKind::kContinuous;
  return std::make_shared<ScriptModel>(options.weights, space, options.label);
}

}  // namespace

std::vector<ModelEntry> script_models() {
  return {{.name = "script",
           .energy = "output of the TorchScript module for float [B,D] or one-hot [B,D,K]; of a "
                     "classifier -f(x)[y], `class` y",
           .parameters =
               "a TorchScript file, which is a program: load only what you trust; and `sites` D",
           .state_kinds = "continuous, binary, categorical (`categories`)",
           .gradient = true,
           .load = load_script,
           .classifier = true,
           .any_continuous = true}};
}

}  // namespace isinglass
