// The values a pickle machine works on, and their way out of it.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "io/pt/pt_file.h"
#include "io/torch.h"

namespace isinglass::pickle {

constexpr size_t kMaxBytes = size_t{64} << 20;  // of the pickle, and of the text it unfolds into
constexpr size_t kMaxValues = size_t{1} << 20;  // of the result

// Objects lie in the machine's arena and refer to each other by Ref, so that references that are
// shared or that form a cycle need no owner.
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

// Copies the graph below an object into a tree of plain values: a reference that is used twice is
// copied twice. Throws Error without a subject if the tree is deeper than 100 levels, has more than
// kMaxValues values or more than kMaxBytes bytes of text (a cycle is all of these), or
// holds what is not a value.
PtValue to_plain_value(Ref object);

}  // namespace isinglass::pickle
