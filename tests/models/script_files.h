// Writes TorchScript files of energies, as Python would.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <filesystem>
#include <string>

namespace isinglass {

// `source` defines forward(self, x).
inline void write_script(const std::filesystem::path& file, const std::string& source) {
  torch::jit::Module module("energy");
  module.define(source);
  module.save(file.string());
}

}  // namespace isinglass
