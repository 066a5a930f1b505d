// Reads and writes PyTorch's .pt files. No other code does.
//
// Reading opens the zip archive with caffe2's PyTorchStreamReader and decodes data.pkl with a small
// restricted pickle machine: plain values, containers, and tensors rebuilt from torch.*Storage. No
// other global is accepted, and no code can run. Writing produces files that
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

// Holds a nested value of a .pt file. Dictionaries keep the order of the file; keys are strings.
struct PtValue;
using PtDict = std::vector<std::pair<std::string, PtValue>>;
using PtList = std::vector<PtValue>;

struct PtValue {
  using Content = std::variant<std::monostate, bool, int64_t, double, std::string, torch::Tensor,
                               PtList, PtDict>;

  PtValue() {}  // not defaulted: PtDict's pair needs it while the type is incomplete
  PtValue(Content content) : value(std::move(content)) {}

  Content value;

  bool is_tensor() const { return std::holds_alternative<torch::Tensor>(value); }
  bool is_dict() const { return std::holds_alternative<PtDict>(value); }
};

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

// Returns any value that the format can hold: tuples are read as lists, integer keys as their
// decimal text, and tensors of any device are read to the CPU. Throws Error naming the file and the
// problem: it is missing, a directory, not a zip archive, truncated, has a wrong checksum, a
// refused global (which is named), or a tensor outside its storage.
PtValue read_pt(const std::filesystem::path& file);

// Reads the bytes of a file; `name` stands for the file in errors.
PtValue read_pt_bytes(std::string_view bytes, const std::string& name);

// Returns a flat dictionary of tensors (a state dict), in the order of the file. Anything else is
// an Error.
NamedTensors read_named_tensors(const std::filesystem::path& file);
// Returns such a dictionary from a value; `name` stands for the file in errors.
NamedTensors named_tensors(const PtValue& value, const std::string& name);

// Reads a file that holds exactly one tensor.
torch::Tensor read_tensor(const std::filesystem::path& file);

// Write a file atomically: to a temporary file in the same directory, which is flushed and renamed,
// so that the file is whole or absent. Tensors are detached, moved to the CPU and made contiguous.
// Throw Error if the disk is full or not writable.
void write_pt(const std::filesystem::path& file, const PtValue& value);
void write_named_tensors(const std::filesystem::path& file, const NamedTensors& tensors);

}  // namespace isinglass
