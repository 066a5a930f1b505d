// Implements the search for a state dict and the removal of wrappers' prefixes.
#include "io/pt/state_dict.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "io/error.h"

namespace isinglass {
namespace {

constexpr size_t kMostNames = 8;  // listed in a sentence

NamedTensors::const_iterator named(const NamedTensors& tensors, const std::string& name) {
  return std::find_if(tensors.begin(), tensors.end(),
                      [&](const auto& tensor) { return tensor.first == name; });
}

bool is_state_dict(const PtValue& value) {
  const auto* dict = std::get_if<PtDict>(&value.value);
  return dict && !dict->empty() && std::all_of(dict->begin(), dict->end(), [](const auto& entry) {
           return entry.second.is_tensor();
         });
}

// Returns the content, or the only state dict in it.
const PtValue& state_dict_within(const PtValue& content, const std::string& source) {
  if (is_state_dict(content) || !content.is_dict()) return content;
  const PtValue* found = &content;
  std::vector<std::string> names;
  for (const auto& [key, value] : std::get<PtDict>(content.value)) {
    if (!is_state_dict(value)) continue;
    names.push_back(key);
    found = &value;
  }
  require(names.size() <= 1,
          "{} holds several state dicts: {}; the one to load must be in a separate file", source,
          fmt::join(names, ", "));
  return *found;
}

// Removes n_averaged, the count that torch's AveragedModel stores next to the module.
NamedTensors without_count(const NamedTensors& tensors) {
  NamedTensors others;
  for (const auto& tensor : tensors) {
    if (tensor.first != "n_averaged") others.push_back(tensor);
  }
  const bool wrapped = std::all_of(others.begin(), others.end(), [](const auto& tensor) {
    return tensor.first.starts_with("module.");
  });
  return wrapped ? others : tensors;
}

// Returns the averaged parameters of a training checkpoint; parameters that are not trained have no
// average and are taken as they are.
NamedTensors averages_of(const PtValue& parameters, const PtValue& averages,
                         const std::string& source) {
  const NamedTensors means = named_tensors(averages, source);
  NamedTensors tensors = named_tensors(parameters, source);
  for (auto& [key, tensor] : tensors) {
    if (const auto mean = named(means, key); mean != means.end()) tensor = mean->second;
  }
  return tensors;
}

}  // namespace

NamedTensors parameters_in(const PtValue& content, const std::string& source) {
  const auto within = [&](const char* key) -> const PtValue* {
    const auto* dict = std::get_if<PtDict>(&content.value);
    if (!dict) return nullptr;
    const auto found = std::find_if(dict->begin(), dict->end(),
                                    [&](const auto& entry) { return entry.first == key; });
    return found != dict->end() && found->second.is_dict() ? &found->second : nullptr;
  };
  const PtValue *parameters = within("parameters"), *averages = within("averages");
  if (parameters && averages) return averages_of(*parameters, *averages, source);
  return named_tensors(state_dict_within(content, source), source);
}

NamedTensors unwrapped(NamedTensors tensors) {
  tensors = without_count(tensors);
  if (tensors.empty()) return tensors;
  const std::string first = tensors.front().first;
  size_t most = 0;
  for (size_t dot = first.find('.'); dot != std::string::npos; dot = first.find('.', dot + 1)) {
    const std::string prefix = first.substr(0, dot + 1);
    const bool common = std::all_of(tensors.begin(), tensors.end(), [&](const auto& tensor) {
      return tensor.first.starts_with(prefix);
    });
    if (common) most = prefix.size();
  }
  for (auto& [name, tensor] : tensors) name.erase(0, most);
  return tensors;
}

NamedTensors::const_iterator find_tensor(const NamedTensors& tensors, const std::string& name) {
  auto found = named(tensors, name);
  for (size_t dot = name.find('.'); dot != std::string::npos && found == tensors.end();
       dot = name.find('.', dot + 1)) {
    found = named(tensors, name.substr(dot + 1));
  }
  return found;
}

std::string names_text(const NamedTensors& tensors) {
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(tensors.size(), kMostNames); ++i) {
    names.push_back(fmt::format("'{}'", tensors[i].first));
  }
  if (names.empty()) return "no other";
  return fmt::format("{}{}", fmt::join(names, ", "), tensors.size() > kMostNames ? ", …" : "");
}

}  // namespace isinglass
