// See seeded.h.
#include "models/seeded.h"

#include <ATen/CPUGeneratorImpl.h>

#include <mutex>

namespace isinglass {

Seeded::Seeded(uint64_t seed) : generator_(at::detail::getDefaultCPUGenerator()) {
  const std::lock_guard<std::mutex> lock(generator_.mutex());
  before_ = generator_.get_state();
  generator_.set_current_seed(seed);
}

Seeded::~Seeded() {
  const std::lock_guard<std::mutex> lock(generator_.mutex());
  generator_.set_state(before_);
}

}  // namespace isinglass
