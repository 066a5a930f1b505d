// Reads Python pickles of protocols 0 to 5: the opcodes (Python's Lib/pickletools.py) of numbers,
// texts, bytes, lists, tuples, dictionaries and objects. Nothing that a pickle names is called. An
// object is represented by the name of its constructor, its arguments and its state. Names other
// than the expected ones are refused.
#pragma once

#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "io/error.h"

namespace isinglass {

struct PickleValue {
  // The kinds of values. kItems is a list or tuple. kPairs is a dictionary, with each key before
  // its value. kObject holds its arguments and, once it was built, its state.
  enum class Kind { kNone, kInteger, kReal, kText, kName, kItems, kPairs, kObject } kind;
  int64_t integer = 0;
  // Bytes or UTF-8. For a name it is "module name", and for an object the name of its constructor.
  std::string text = {};
  std::vector<const PickleValue*> items = {};
};

class Pickle {
 public:
  // Reads a file, plain or gzipped. `content` says in error messages what the file should hold.
  // Throws Error naming the file if it is damaged, has another protocol, holds other values, or
  // uses a name that is not among `names`.
  Pickle(const std::filesystem::path& file, std::string content, std::vector<std::string> names);

  // Returns the value that the pickle holds. Values can contain themselves, as in Python. They live
  // as long as the pickle.
  const PickleValue& value() const { return *value_; }
  // Returns the size of the file [bytes], decompressed.
  size_t size() const { return size_; }

  // Throws Error naming the file unless `good`.
  void demand(bool good, std::string_view reason) const;

 private:
  using Kind = PickleValue::Kind;
  class Machine;

  std::string file_, content_;
  std::vector<std::string> names_;
  // All values. They are owned here, since values that contain themselves could not own each other.
  std::deque<PickleValue> values_;
  const PickleValue* value_ = nullptr;
  size_t size_ = 0;
};

}  // namespace isinglass
