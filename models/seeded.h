// LibTorch's CPU generator seeded for a scope, and afterwards as it was before: torch.nn's initial
// values come from that generator alone.
#pragma once

#include <cstdint>

#include "io/torch.h"

namespace isinglass {

class Seeded {
 public:
  explicit Seeded(uint64_t seed);
  ~Seeded();
  Seeded(const Seeded&) = delete;
  Seeded& operator=(const Seeded&) = delete;

 private:
  at::Generator generator_;
  torch::Tensor before_;
};

}  // namespace isinglass
