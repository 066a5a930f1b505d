// Implements the scoped seeding of LibTorch's CPU generator.
#include "models/seeded.h"

namespace isinglass {
namespace {

std::recursive_mutex& scopes() {
  static std::recursive_mutex mutex;
  return mutex;
}

}  // namespace

Seeded::Seeded(uint64_t seed) : alone_(scopes()), generator_(at::detail::getDefaultCPUGenerator()) {
  const std::lock_guard<std::mutex> lock(generator_.mutex());
  before_ = generator_.get_state();
  generator_.set_current_seed(seed);
}

Seeded::~Seeded() {
  const std::lock_guard<std::mutex> lock(generator_.mutex());
  generator_.set_state(before_);
}

}  // namespace isinglass
