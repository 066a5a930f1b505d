// What torch.nn makes initial values from, for a scope: LibTorch's CPU generator, seeded, and float32 as
// the default type. Afterwards both are as they were before. One thread at a time.
#pragma once

#include <cstdint>
#include <mutex>

#include "io/torch.h"

namespace isinglass {

class Seeded {
 public:
  explicit Seeded(uint64_t seed);
  ~Seeded();
  Seeded(const Seeded&) = delete;
  Seeded& operator=(const Seeded&) = delete;

 private:
  std::unique_lock<std::recursive_mutex> alone_;
  at::Generator generator_;
  torch::Tensor before_;
  caffe2::TypeMeta type_;
};

}  // namespace isinglass
