// Reads what Python pickled, in its protocols 0 to 5: the opcodes (Python's Lib/pickletools.py) of
// numbers, text, bytes, lists, tuples, dictionaries and objects. Nothing that a pickle names is
// called: an object is kept as the name that makes it, its arguments and its state, and names other
// than those expected are refused.
#pragma once

#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "io/error.h"

namespace isinglass {

struct PickleValue {
  // Items: a list or tuple. Pairs: a dictionary, a key before its value. Object: its arguments and,
  // once it was built, its state.
  enum class Kind { kNone, kInteger, kReal, kText, kName, kItems, kPairs, kObject } kind;
  int64_t integer = 0;
  // Bytes or UTF-8; of a name, "module name", and of an object, that of what makes it.
  std::string text = {};
  std::vector<const PickleValue*> items = {};
};

class Pickle {
 public:
  // Plain or gzipped. `content` says in errors what it should hold. Throws Error naming the file if
  // it is damaged, of another protocol, holds other values, or names what is not among `names`.
  Pickle(const std::filesystem::path& file, std::string content, std::vector<std::string> names);

  // What it holds. Values can hold themselves, as in Python; they live as long as the pickle.
  const PickleValue& value() const { return *value_; }
  // Bytes of the file, unzipped.
  size_t size() const { return size_; }

  // Throws Error naming the file unless `good`.
  void demand(bool good, std::string_view reason) const;

 private:
  using Kind = PickleValue::Kind;
  class Machine;

  std::string file_, content_;
  std::vector<std::string> names_;
  std::deque<PickleValue> values_;  // all, so that none has an owner that it could hold
  const PickleValue* value_ = nullptr;
  size_t size_ = 0;
};

}  // namespace isinglass
