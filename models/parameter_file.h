// Reads parameter files in the public format (docs/reference/models.md), or the same tensors in
// memory. Reading is strict, and every error names the tensor.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "io/pt/pt_file.h"
#include "io/torch.h"

namespace isinglass {

// Returns the tensors of a parameter file: a state dict, or the averaged parameters of a training
// checkpoint.
NamedTensors read_parameters(const std::filesystem::path& file);

// Hands out the named tensors of one file, one by one. Every error names the file and the tensor.
class ParameterReader {
 public:
  explicit ParameterReader(const std::filesystem::path& file);
  // Reads tensors in memory; `source` names them in errors.
  ParameterReader(std::string source, NamedTensors tensors);

  bool has(const std::string& key) const;

  // Returns the tensor's number of dimensions, for keys that allow several.
  int64_t rank(const std::string& key) const;

  // Returns the tensor as the file has it, after checking its shape (−1: any size). The tensor
  // still has to be taken.
  torch::Tensor peek(const std::string& key, const std::vector<int64_t>& shape) const;

  // Take a tensor. real() requires finite real numbers and returns float64 if they are float64 or
  // whole numbers, otherwise float32. whole() requires whole numbers and returns int64.
  torch::Tensor real(const std::string& key, const std::vector<int64_t>& shape);
  torch::Tensor whole(const std::string& key, const std::vector<int64_t>& shape);

  // Throws Error if a tensor was not taken.
  void finish() const;

  const std::string& source() const { return source_; }

 private:
  torch::Tensor take(const std::string& key, const std::vector<int64_t>& shape);

  std::string source_;
  NamedTensors tensors_;
};

// Takes 'edges', int64 [E, 2]. Throws Error unless the sites are within 0 … sites − 1 and no edge
// joins a site with itself.
torch::Tensor read_edges(ParameterReader& reader, int64_t sites);

inline constexpr int64_t kMostCategories = 256;

// Throws Error unless the tensor [D, K] under that key has 2 to kMostCategories columns.
void check_categories(const ParameterReader& reader, const std::string& key,
                      const torch::Tensor& tensor);

// Copies the reader's tensors into the module's parameters and buffers. Throws Error unless their
// names are exactly those of the module.
void load_state(torch::nn::Module& module, ParameterReader& reader);

}  // namespace isinglass
