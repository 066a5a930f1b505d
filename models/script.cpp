// See script.h.
#include "models/script.h"

#include <fmt/ostream.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include "io/error.h"
#include "models/registry.h"

namespace isinglass {
namespace {

// What a script's failure comes down to: the last line of TorchScript's own report.
std::string last_line(std::string text) {
  text.erase(text.find_last_not_of(" \n") + 1);
  const size_t newline = text.rfind('\n');
  return newline == std::string::npos ? text : text.substr(newline + 1);
}

// f(), with any failure as an Error that names the file.
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

ScriptModel::ScriptModel(const std::filesystem::path& file, const StateSpace& space)
    : file_(file.string()), space_(space) {
  require(std::filesystem::is_regular_file(file), "{}: no such file", file_);
  program_ = reported(file_, "not a TorchScript module", [&] {
    auto program = std::make_unique<Program>(Program{torch::jit::load(file_, torch::kCPU)});
    program->module.eval();
    for (auto parameter : program->module.parameters()) parameter.set_requires_grad(false);
    return program;
  });
}

ScriptModel::~ScriptModel() = default;

torch::Tensor ScriptModel::energy(const torch::Tensor& x) {
  const torch::Tensor input = relaxed(x);
  const torch::Tensor u = call(input);
  if (!checked_) check_first(u, input.size(0));
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
    // Recompiling after some calls would change the rounding of later ones.
    const torch::jit::GraphOptimizerEnabledGuard plain(false);
    const c10::IValue output = program_->module.forward({input});
    require(output.isTensor(), "{}: the script must return a tensor of energies [B]", file_);
    return output.toTensor();
  });
}

void ScriptModel::check_first(const torch::Tensor& u, int64_t states) {
  require(u.is_floating_point() && u.dim() == 1 && u.size(0) == states,
          "{}: for {} states the script returned shape {}; it must be floating-point energies [{}]",
          file_, states, fmt::format("{}", fmt::streamed(u.sizes())), states);
  require(torch::isfinite(u).all().item<bool>(),
          "{}: the script returned an energy that is not finite", file_);
  checked_ = true;
}

namespace {

std::shared_ptr<EnergyModel> load_script(const ModelOptions& options) {
  require(options.sites.has_value(), "model script needs --sites D: its file does not say");
  StateSpace space{StateKind::kBinary, *options.sites, options.categories.value_or(2)};
  if (options.categories) space.kind = StateKind::kCategorical;
  if (options.continuous) space.kind = StateKind::kContinuous;
  return std::make_shared<ScriptModel>(options.weights, space);
}

}  // namespace

std::vector<ModelEntry> script_models() {
  return {{"script", "whatever the TorchScript module returns for float [B,D] or one-hot [B,D,K]",
           "a TorchScript file, which is a program: load only what you trust; and --sites D",
           "continuous, binary, categorical (--categories)", true, load_script}};
}

}  // namespace isinglass
