#include "train/data/formats/numpy_pickle.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "train/data/describe.h"
#include "train/data/formats/format.h"
#include "train/data/formats/pickle.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;
using Kind = PickleValue::Kind;

constexpr const char* kArray = "numpy.core.multiarray _reconstruct";

Pickle read_pickle(const fs::path& file) {
  return Pickle(file, "arrays of NumPy", {kArray, "numpy ndarray", "numpy dtype"});
}

bool is_array(const PickleValue& value) {
  return value.kind == Kind::kObject && value.text == kArray && value.items.size() == 2 &&
         value.items[1]->items.size() == 5;
}

// dtype('f8', …), whose state has the order of bytes second: of this machine, or of single bytes.
torch::ScalarType type_of(const Pickle& pickle, const PickleValue& type) {
  const bool built = type.kind == Kind::kObject && type.items.size() == 2 &&
                     !type.items[0]->items.empty() && type.items[1]->items.size() > 1;
  const std::string name = built ? type.items[0]->items[0]->text : "";
  const std::string order = built ? type.items[1]->items[1]->text : "";
  if (name == "u1") return torch::kUInt8;
  pickle.demand(order == "<" && (name == "f4" || name == "f8"), "its array is of another type");
  return name == "f4" ? torch::kFloat32 : torch::kFloat64;
}

// Its state: a version, the shape, the type, whether the order is Fortran's, and the bytes.
torch::Tensor array_of(const Pickle& pickle, const PickleValue& value) {
  pickle.demand(is_array(value), "it holds what is no array");
  const std::vector<const PickleValue*>& state = value.items[1]->items;
  const torch::ScalarType type = type_of(pickle, *state[2]);
  std::vector<int64_t> shape;
  double size = static_cast<double>(torch::elementSize(type));  // exact below 2^53: above any file
  for (const PickleValue* length : state[1]->items) {
    pickle.demand(length->kind == Kind::kInteger && length->integer > 0, "its array has no shape");
    shape.push_back(length->integer);
    size *= static_cast<double>(length->integer);
  }
  const std::string& bytes = state[4]->text;
  pickle.demand(!shape.empty() && size == static_cast<double>(bytes.size()),
                fmt::format("its array has {} bytes for {}", bytes.size(), size));
  const bool fortran = state[3]->integer != 0;
  if (fortran) std::reverse(shape.begin(), shape.end());
  torch::Tensor values = torch::empty(shape, type);
  std::memcpy(values.data_ptr(), bytes.data(), bytes.size());
  return fortran ? values.numpy_T().contiguous() : values;
}

torch::Tensor arrays_of(const Pickle& pickle, const PickleValue& value) {
  if (value.kind != Kind::kItems) return array_of(pickle, value);
  std::vector<torch::Tensor> arrays;
  for (const PickleValue* item : value.items) {
    arrays.push_back(array_of(pickle, *item));
    const bool alike = arrays.back().sizes() == arrays[0].sizes() &&
                       arrays.back().scalar_type() == arrays[0].scalar_type();
    pickle.demand(alike, "the arrays of a list differ in shape or type");
  }
  pickle.demand(!arrays.empty(), "it holds no array");
  return torch::stack(arrays);
}

std::map<std::string, torch::Tensor> dictionary_of(const Pickle& pickle) {
  const std::vector<const PickleValue*>& pairs = pickle.value().items;
  pickle.demand(pickle.value().kind == Kind::kPairs && !pairs.empty(), "it holds no dictionary");
  std::map<std::string, torch::Tensor> arrays;
  for (size_t i = 0; i < pairs.size(); i += 2) {
    pickle.demand(pairs[i]->kind == Kind::kText, "its dictionary has a key that is no text");
    arrays[pairs[i]->text] = arrays_of(pickle, *pairs[i + 1]);
  }
  return arrays;
}

torch::Tensor array_of(const Pickle& pickle) {
  const PickleValue& value = pickle.value();
  const bool listed = value.kind == Kind::kItems && value.items.size() == 1;
  return array_of(pickle, listed ? *value.items[0] : value);
}

// Of a dictionary, its largest array.
DataFileDescription describe_numpy_pickle(const fs::path& file) {
  const Pickle pickle = read_pickle(file);
  if (pickle.value().kind != Kind::kPairs) {
    return describe_values("NumPy pickle", file, array_of(pickle));
  }
  const std::map<std::string, torch::Tensor> arrays = dictionary_of(pickle);
  const auto& [name, values] = *std::max_element(
      arrays.begin(), arrays.end(),
      [](const auto& a, const auto& b) { return a.second.numel() < b.second.numel(); });
  return describe_values(fmt::format("NumPy pickle, array '{}'", name), file, values);
}

}  // namespace

torch::Tensor read_numpy_pickle(const fs::path& file) {
  return array_of(read_pickle(file));
}

std::map<std::string, torch::Tensor> read_numpy_dictionary(const fs::path& file) {
  return dictionary_of(read_pickle(file));
}

std::vector<DataFormat> numpy_pickle_formats() {
  const auto recognises = [](const fs::path& file, const std::string&) {
    return is_named(file, ".pkl");
  };
  return {{"NumPy pickle", recognises, read_numpy_pickle, describe_numpy_pickle}};
}

}  // namespace isinglass
