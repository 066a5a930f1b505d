// Accesses the entries of a dictionary in a .pt file by key: adds an entry, or returns a value of
// the requested type. Errors name the key.
#pragma once

#include <string>
#include <utility>

#include "io/error.h"
#include "io/pt/pt_file.h"

namespace isinglass {

// Appends an entry, which may hold a container.
template <class T>
void put(PtDict& dict, const char* key, T value) {
  dict.emplace_back(key, PtValue{std::move(value)});
}

class PtEntries {
 public:
  // Wraps a dictionary, which has to outlive this object. `what` is the subject of errors: "the
  // annealing checkpoint".
  PtEntries(const PtDict& dict, std::string what) : dict_(dict), what_(std::move(what)) {}

  // Returns the entry; null if there is none or it has another type.
  template <class T>
  const T* find(const std::string& key) const {
    for (const auto& [name, value] : dict_) {
      if (name == key) return std::get_if<T>(&value.value);
    }
    return nullptr;
  }

  int64_t integer(const std::string& key) const { return get<int64_t>(key, "a whole number"); }
  double real(const std::string& key) const { return get<double>(key, "a number"); }
  bool flag(const std::string& key) const { return get<bool>(key, "true or false"); }
  const torch::Tensor& tensor(const std::string& key) const {
    return get<torch::Tensor>(key, "a tensor");
  }
  const PtDict& dict(const std::string& key) const { return get<PtDict>(key, "a dictionary"); }

 private:
  template <class T>
  const T& get(const std::string& key, const char* kind) const {
    const T* value = find<T>(key);
    require(value, "{} has no entry '{}' that is {}", what_, key, kind);
    return *value;
  }

  const PtDict& dict_;
  std::string what_;
};

}  // namespace isinglass
