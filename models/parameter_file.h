// Parameter files in the public format (docs/reference/models.md), or the same tensors in memory:
// strict reading, with the tensor named in every error.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "io/pt/pt_file.h"
#include "io/torch.h"

namespace isinglass {

// The tensors of a file of parameters: a state dict, or the averages of a checkpoint of training.
NamedTensors read_parameters(const std::filesystem::path& file);

// The named tensors of one file, taken one by one. Every error names the file and the tensor.
class ParameterReader {
 public:
  explicit ParameterReader(const std::filesystem::path& file);
  // The same of tensors in memory, which `source` names in errors.
  ParameterReader(std::string source, NamedTensors tensors);

  bool has(const std::string& key) const;

  int64_t rank(const std::string& key) const;  // of the tensor, which may have several forms

  // The tensor as the file has it, of the given shape (−1: any size); it stays to be taken.
  torch::Tensor peek(const std::string& key, const std::vector<int64_t>& shape) const;

  // Takes finite real numbers, as float64 if they are of it or whole, else float32; or int64 ones.
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

// Edges int64 [E, 2] within 0 … sites − 1, no site with itself.
torch::Tensor read_edges(ParameterReader& reader, int64_t sites);

inline constexpr int64_t kMostCategories = 256;

// Throws Error unless the tensor [D, K] of that key has 2 to kMostCategories columns.
void check_categories(const ParameterReader& reader, const std::string& key,
                      const torch::Tensor& tensor);

// Copies the reader's tensors into the module's parameters and buffers, all of them and no others.
void load_state(torch::nn::Module& module, ParameterReader& reader);

}  // namespace isinglass
