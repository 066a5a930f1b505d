// Implements the conversion of pickled objects to plain values.
#include "io/pt/pickle_values.h"

#include <algorithm>
#include <unordered_set>

#include "io/error.h"

namespace isinglass::pickle {
namespace {

constexpr int kMaxDepth = 100;

// Returns true if the text contains control characters. Keys with such characters are refused,
// because messages and tables show keys.
bool has_control_characters(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return (c >= 0 && c < ' ') || c == 127; });
}

class Converter {
 public:
  PtValue value(Ref object, int depth) {
    require(depth <= kMaxDepth, "is nested more than {} levels deep", kMaxDepth);
    require(++values_ <= kMaxValues, "unfolds into more than {} values", kMaxValues);
    return std::visit([&](const auto& content) { return convert(content, depth); }, object->value);
  }

 private:
  template <class T>
  PtValue convert(const T& scalar, int) {
    return {scalar};
  }

  PtValue convert(const std::string& text, int) {
    count_text(text);
    return {text};
  }

  PtValue convert(const Global& global, int) {
    fail("holds the Python object {} itself, not a value", global.name);
  }
  PtValue convert(const TypedStorage&, int) { fail("holds a storage outside a tensor"); }
  PtValue convert(const List& list, int depth) { return {items(list.items, depth)}; }
  PtValue convert(const Tuple& tuple, int depth) { return {items(tuple.items, depth)}; }

  PtValue convert(const Dict& dict, int depth) {
    PtDict result;
    std::unordered_set<std::string> names;
    for (const auto& [key, content] : dict.items) {
      std::string name = key_name(key);
      require(names.insert(name).second, "has a dictionary with the same key twice");
      result.emplace_back(std::move(name), value(content, depth + 1));
    }
    return {std::move(result)};
  }

  PtList items(const std::vector<Ref>& refs, int depth) {
    PtList result;
    for (const Ref ref : refs) result.push_back(value(ref, depth + 1));
    return result;
  }

  // Returns a key as text. Integer keys are allowed, because the states of optimisers have them.
  std::string key_name(Ref key) {
    if (const auto* index = std::get_if<int64_t>(&key->value)) return std::to_string(*index);
    const auto* name = std::get_if<std::string>(&key->value);
    require(name, "has a dictionary key that is neither text nor an integer");
    require(!has_control_characters(*name), "has a dictionary key with control characters");
    count_text(*name);
    return *name;
  }

  void count_text(const std::string& text) {
    text_ += text.size();
    require(text_ <= kMaxBytes, "unfolds into more than {} bytes of text", kMaxBytes);
  }

  size_t values_ = 0, text_ = 0;
};

}  // namespace

PtValue to_plain_value(Ref object) {
  return Converter().value(object, 0);
}

}  // namespace isinglass::pickle
