// Defines the building blocks of standard instances (instances.h): their numbers, with defaults and
// ranges, and random tensors derived from their seed.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/random/normal.h"
#include "models/instances/instances.h"

namespace isinglass {

// Describes a number of an instance: its key, default and range.
struct Parameter {
  std::string key;
  double initial;
  double least = -std::numeric_limits<double>::infinity();
  bool whole = false;  // an integer
  double most = 1e6;
  std::string prefix = {};  // if there is one, PREFIX5 is short for KEY=5
};

inline Parameter count(const char* key, double initial, double least = 1) {
  return {key, initial, least, true};
}

inline Parameter probability(const char* key, double initial) {
  constexpr double kFromCertainty = 1e-9;
  return {key, initial, kFromCertainty, false, 1 - kFromCertainty};
}

// Holds the numbers of one instance, and makes random tensors from its seed. `stream` distinguishes
// the tensors of one instance: equal streams give equal random numbers.
class Numbers {
 public:
  Numbers(std::map<std::string, double> values, ImageSource images)
      : values_(std::move(values)), images_(std::move(images)) {}

  double operator[](const std::string& key) const { return values_.at(key); }
  int64_t whole(const std::string& key) const { return static_cast<int64_t>(values_.at(key)); }

  torch::Tensor normal(at::IntArrayRef shape, uint32_t stream = 0) const {
    return drawn(shape, stream, [](const PhiloxStream& draws, uint32_t i) {
      return standard_normal(draws, Purpose::kInstance, i);
    });
  }
  torch::Tensor uniform(at::IntArrayRef shape, uint32_t stream = 0) const {
    return drawn(shape, stream, [](const PhiloxStream& draws, uint32_t i) {
      return draws.uniform(Purpose::kInstance, i);
    });
  }
  const ImageSource& images() const { return images_; }
  PhiloxStream draws(uint32_t stream) const {
    return {static_cast<uint64_t>(whole("seed")), stream, 0};
  }

 private:
  template <class Draw>
  torch::Tensor drawn(at::IntArrayRef shape, uint32_t stream, Draw draw) const {
    torch::Tensor out = torch::empty(shape, torch::kFloat64);
    for (int64_t i = 0; i < out.numel(); ++i) {
      out.data_ptr<double>()[i] = draw(draws(stream), static_cast<uint32_t>(i));
    }
    return out;
  }

  std::map<std::string, double> values_;
  ImageSource images_;
};

struct Instance {
  std::string name;
  std::vector<Parameter> parameters;  // in addition to the seed
  std::shared_ptr<EnergyModel> (*make)(const Numbers&);
  bool images = false;  // requires images
  // Returns about how many numbers of 8 bytes exist at once while the instance is made. Null if
  // they are few, whatever the parameters.
  double (*numbers)(const Numbers&) = nullptr;
};

// Returns the instances with continuous states, and those whose least energy is sought.
std::vector<Instance> continuous_instances();
std::vector<Instance> optimisation_instances();

}  // namespace isinglass
