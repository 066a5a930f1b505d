// PyTorch's .pt files, both ways: the one place that reads or writes them.
//
// Reading opens the zip with caffe2's PyTorchStreamReader and decodes data.pkl with a small
// restricted pickle machine: plain values, containers, and tensors rebuilt from torch.*Storage; no
// other global is accepted and no code can run. Writing produces files that
// torch.load(weights_only=True) opens.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "io/torch.h"

namespace isinglass {

// A nested value of a .pt file. Dictionaries keep the file's order; keys are strings.
struct PtValue;
using PtDict = std::vector<std::pair<std::string, PtValue>>;
using PtList = std::vector<PtValue>;

struct PtValue {
  using Content = std::variant<std::monostate, bool, int64_t, double, std::string, torch::Tensor,
                               PtList, PtDict>;

  PtValue() {}  // not defaulted: the type is incomplete where a pair of PtDict asks about it
  PtValue(Content content) : value(std::move(content)) {}

  Content value;

  bool is_tensor() const { return std::holds_alternative<torch::Tensor>(value); }
  bool is_dict() const { return std::holds_alternative<PtDict>(value); }
};

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

// Any value that the format holds: tuples are read as lists, integer keys as their decimal text,
// and tensors of any device to the CPU. Throws Error naming the file and what is wrong with it:
// missing, a directory, not a zip, truncated, a wrong checksum, a global that is refused by its
// name, a tensor outside its storage.
PtValue read_pt(const std::filesystem::path& file);

// The same for a file's bytes; `name` stands for the file in errors.
PtValue read_pt_bytes(std::string_view bytes, const std::string& name);

// A flat dictionary of tensors (a state dict), in the file's order; anything else is an Error.
NamedTensors read_named_tensors(const std::filesystem::path& file);
// The same of a value; `name` stands for the file in errors.
NamedTensors named_tensors(const PtValue& value, const std::string& name);

// A file that holds exactly one tensor.
torch::Tensor read_tensor(const std::filesystem::path& file);

// Written to a temporary file beside it, flushed and renamed: the file is whole or absent. Tensors
// are detached, moved to the CPU and made contiguous. Throws Error if the disk is full or not
// writable.
void write_pt(const std::filesystem::path& file, const PtValue& value);
void write_named_tensors(const std::filesystem::path& file, const NamedTensors& tensors);

}  // namespace isinglass
