// Implements the reader of pickled NumPy arrays.
#include "train/data/formats/numpy_pickle.h"

#include <vector>

#include "io/error.h"
#include "train/data/describe.h"
#include "train/data/formats/format.h"
#include "train/data/formats/numpy_array.h"
#include "train/data/formats/pickle.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;
using Kind = PickleValue::Kind;

// Encodes bytes in protocols that have only texts.
constexpr const char* kEncode = "_codecs encode";

// Returns true if `name` is this word of this module under its name in NumPy 1 or 2.
bool is_one_of(const std::string& name, std::string_view module, std::string_view word) {
  return name == fmt::format("numpy.core.{} {}", module, word) ||
         name == fmt::format("numpy._core.{} {}", module, word);
}

// The arrays of a pickle, each converted once.
class Arrays {
 public:
  explicit Arrays(const fs::path& file)
      : pickle_(file, "arrays of NumPy",
                {"numpy.core.multiarray _reconstruct", "numpy._core.multiarray _reconstruct",
                 "numpy.core.numeric _frombuffer", "numpy._core.numeric _frombuffer",
                 "numpy ndarray", "numpy dtype", kEncode, "__builtin__ bytes", "builtins bytes"}) {}

  const PickleValue& value() const { return pickle_.value(); }

  void demand(bool good, std::string_view reason) const { pickle_.demand(good, reason); }

  torch::Tensor array(const PickleValue& value) {
    const auto found = made_.find(&value);
    if (found != made_.end()) return found->second;
    NumpyArray array;
    std::string bytes;
    if (value.kind == Kind::kObject && is_one_of(value.text, "numeric", "_frombuffer")) {
      array = from_buffer(value, bytes);
    } else {
      array = reconstructed(value, bytes);
    }
    array.bytes = bytes;
    take(bytes.size());
    try {
      return made_[&value] = tensor_of(array);
    } catch (const Error& error) {
      demand(false, fmt::format("it {}", error.what()));
      throw;
    }
  }

  // Returns N arrays of one shape in a list as one array of shape [N, …].
  torch::Tensor stacked(const PickleValue& value) {
    if (value.kind != Kind::kItems) return array(value);
    demand(!value.items.empty(), "it holds no array");
    std::vector<torch::Tensor> all;
    for (const PickleValue* item : value.items) {
      all.push_back(array(*item));
      const bool alike =
          all.back().sizes() == all[0].sizes() && all.back().scalar_type() == all[0].scalar_type();
      demand(alike, "the arrays of a list differ in shape or type");
      take_listed(all.back().nbytes());
    }
    return torch::stack(all);
  }

  // Returns the arrays of a dictionary.
  NamedTensors named() {
    const std::vector<const PickleValue*>& pairs = value().items;
    demand(value().kind == Kind::kPairs && !pairs.empty(), "it holds no dictionary");
    NamedTensors arrays;
    for (size_t i = 0; i < pairs.size(); i += 2) {
      demand(pairs[i]->kind == Kind::kText, "its dictionary has a key that is not a string");
      arrays.emplace_back(pairs[i]->text, stacked(*pairs[i + 1]));
    }
    return arrays;
  }

  // Returns the only array, which is alone or the only element of a list.
  torch::Tensor one() {
    const bool listed = value().kind == Kind::kItems && value().items.size() == 1;
    return array(listed ? *value().items[0] : value());
  }

 private:
  // These bound the memory. The bytes of an array must be in the file; the numbers of a list may be
  // wider in memory than in the file.
  void take(size_t bytes) {
    taken_ += bytes;
    demand(taken_ <= pickle_.size(), "it refers to the bytes of an array too many times");
  }
  void take_listed(size_t bytes) {
    listed_ += bytes;
    demand(listed_ <= 4 * pickle_.size(), "it refers to an array too many times");
  }

  // Returns the bytes of a value, or of a text that encodes one byte per character.
  std::string bytes_of(const PickleValue& value) const {
    if (value.kind == Kind::kText) return value.text;
    demand(value.kind == Kind::kObject && value.items.size() == 1, "its array has no bytes");
    const std::vector<const PickleValue*>& arguments = value.items[0]->items;
    if (value.text.ends_with(" bytes") && arguments.empty()) return "";
    demand(value.text == kEncode && arguments.size() == 2 && arguments[1]->text == "latin1",
           "its array has no bytes");
    const std::string_view text = arguments[0]->text;
    std::string bytes;
    for (size_t i = 0; i < text.size(); ++i) {
      const auto lead = static_cast<uint8_t>(text[i]);
      if (lead < 0x80) {
        bytes += text[i];
        continue;
      }
      const bool latin = (lead == 0xc2 || lead == 0xc3) && i + 1 < text.size() &&
                         (static_cast<uint8_t>(text[i + 1]) & 0xc0) == 0x80;
      demand(latin, "its array has damaged bytes");
      bytes += static_cast<char>(lead << 6 | (static_cast<uint8_t>(text[++i]) & 0x3f));
    }
    return bytes;
  }

  // Returns the type of a dtype('f8', …), whose state has the byte order as its second entry.
  std::string type_of(const PickleValue& type) const {
    const bool built = type.kind == Kind::kObject && type.text == "numpy dtype" &&
                       type.items.size() == 2 && !type.items[0]->items.empty() &&
                       type.items[1]->items.size() > 1;
    demand(built, "its array has no type");
    return bytes_of(*type.items[1]->items[1]) + bytes_of(*type.items[0]->items[0]);
  }

  std::vector<int64_t> shape_of(const PickleValue& value) const {
    std::vector<int64_t> shape;
    for (const PickleValue* length : value.items) {
      demand(length->kind == Kind::kInteger && length->integer > 0, "its array has no shape");
      shape.push_back(length->integer);
    }
    demand(!shape.empty(), "its array has no shape");
    return shape;
  }

  // Reads an array from its state: version, shape, type, whether the order is Fortran's, and bytes.
  NumpyArray reconstructed(const PickleValue& value, std::string& bytes) const {
    demand(value.kind == Kind::kObject && is_one_of(value.text, "multiarray", "_reconstruct") &&
               value.items.size() == 2 && value.items[1]->items.size() == 5,
           "it holds a value that is not an array");
    const std::vector<const PickleValue*>& state = value.items[1]->items;
    bytes = bytes_of(*state[4]);
    return {type_of(*state[2]), shape_of(*state[1]), state[3]->integer != 0};
  }

  // Reads an array of protocol 5 from its arguments: bytes, type, shape, and order, "C" or "F".
  NumpyArray from_buffer(const PickleValue& value, std::string& bytes) const {
    demand(value.items.size() == 1 && value.items[0]->items.size() == 4,
           "it holds a value that is not an array");
    const std::vector<const PickleValue*>& arguments = value.items[0]->items;
    bytes = bytes_of(*arguments[0]);
    return {type_of(*arguments[1]), shape_of(*arguments[2]), arguments[3]->text == "F"};
  }

  Pickle pickle_;
  std::map<const PickleValue*, torch::Tensor> made_;
  size_t taken_ = 0, listed_ = 0;
};

// Reads ((images, classes), …) of training, validation and test images, or of training and test
// images.
OwnArrays pairs_of(Arrays& arrays, const std::string& source) {
  const std::vector<const PickleValue*>& pairs = arrays.value().items;
  OwnArrays own;
  for (size_t i = 0; i < pairs.size(); ++i) {
    arrays.demand(pairs[i]->kind == Kind::kItems && pairs[i]->items.size() == 2,
                  "it holds a value that is not an array");
    OwnArray& split = i == 0 ? own.train : i + 1 == pairs.size() ? own.test : own.validation;
    split = {fmt::format("{}, part {},", source, i + 1), arrays.array(*pairs[i]->items[0])};
    if (i == 0) own.labels = arrays.array(*pairs[i]->items[1]);
  }
  return own;
}

OwnArrays read_pickled_arrays(const fs::path& file) {
  Arrays arrays(file);
  const PickleValue& value = arrays.value();
  if (value.kind == Kind::kPairs) return arrays_named(arrays.named(), file.string());
  const size_t parts = value.kind == Kind::kItems ? value.items.size() : 1;
  if (parts == 2 || parts == 3) return pairs_of(arrays, file.string());
  return {.whole = {file.string(), arrays.one()}};
}

DataFileDescription describe_numpy_pickle(const fs::path& file) {
  Arrays arrays(file);
  if (arrays.value().kind == Kind::kPairs) {
    return describe_arrays("NumPy pickle", file, arrays.named());
  }
  const OwnArrays own = read_pickled_arrays(file);
  return own.whole.given()
             ? describe_values("NumPy pickle", file, own.whole.values)
             : describe_values("NumPy pickle, training images", file, own.train.values);
}

}  // namespace

torch::Tensor read_numpy_pickle(const fs::path& file) {
  return Arrays(file).one();
}

std::map<std::string, torch::Tensor> read_numpy_dictionary(const fs::path& file) {
  const NamedTensors arrays = Arrays(file).named();
  return {arrays.begin(), arrays.end()};
}

std::vector<DataFormat> numpy_pickle_formats() {
  const auto recognises = [](const fs::path& file, const std::string&) {
    return is_named(file, ".pkl") || is_named(file, ".pickle");
  };
  return {{"NumPy pickle", recognises, nullptr, describe_numpy_pickle, read_pickled_arrays}};
}

}  // namespace isinglass
