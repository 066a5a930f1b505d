// Any energy U(x) as a TorchScript module exported from Python (torch.jit.script or trace, then
// save). Its input is float32 [B, D] for binary and continuous states, one-hot [B, D, K] for
// categorical ones. Its output is the energies [B] or, for a classifier f with a class y, f(x)
// [B, C]; then U(x) = −f(x)[y]. The file is a program, and loading and calling it executes what it
// contains. The output's shape and finiteness are checked on the first call.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "models/energy_model.h"

namespace isinglass {

class ScriptModel : public EnergyModel {
 public:
  // Throws Error if the file is not a TorchScript module.
  ScriptModel(const std::filesystem::path& file, const StateSpace& space,
              std::optional<int64_t> label = {});
  ~ScriptModel() override;

  std::string kind_name() const override { return "script"; }
  StateSpace space() const override { return space_; }
  bool capturable() const override { return false; }  // the program may synchronise
  // Throws Error if the script fails or its output does not have the form described above.
  torch::Tensor energy(const torch::Tensor& x) override;

 private:
  torch::Tensor call(const torch::Tensor& input);
  void check_first(const torch::Tensor& output, int64_t states);

  struct Program;  // keeps LibTorch's script headers out of this header
  std::string file_;
  StateSpace space_;
  std::optional<int64_t> label_;  // y of a classifier
  std::unique_ptr<Program> program_;
  bool checked_ = false;
};

}  // namespace isinglass
