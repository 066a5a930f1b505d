// Defines the values that the pickle machine works on, and their conversion to plain values.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "io/pt/pt_file.h"
#include "io/torch.h"

namespace isinglass::pickle {

// Bounds the pickle, and also the text that it expands into, in bytes.
constexpr size_t kMaxBytes = size_t{64} << 20;
constexpr size_t kMaxValues = size_t{1} << 20;  // of the result

// Objects are allocated in the machine's arena and refer to each other by Ref, so that shared and
// cyclic references need no owner.
struct Object;
using Ref = Object*;

struct Global {
  std::string name;  // module.class
};
struct TypedStorage {
  c10::Storage storage;
  torch::ScalarType type;
};
struct List {
  std::vector<Ref> items;
};
struct Tuple {
  std::vector<Ref> items;
};
struct Dict {
  std::vector<std::pair<Ref, Ref>> items;
};
using Value = std::variant<std::monostate, bool, int64_t, double, std::string, Global, TypedStorage,
                           torch::Tensor, List, Tuple, Dict>;
struct Object {
  Value value;
};

// Converts the graph below an object into a tree of plain values; an object that is referenced
// twice is copied twice. Throws Error, whose message lacks the subject, if the tree is deeper than
// 100 levels, has more than kMaxValues values or more than kMaxBytes bytes of text (a cycle exceeds
// all of these), or holds something that is not a value.
PtValue to_plain_value(Ref object);

}  // namespace isinglass::pickle
