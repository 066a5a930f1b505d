// Implements the scoped seeding of LibTorch's CPU generator.
#include "models/scoped_torch_seed.h"

namespace isinglass {
namespace {

std::recursive_mutex& scopes() {
  static std::recursive_mutex mutex;
  return mutex;
}

}  // namespace

ScopedTorchSeed::ScopedTorchSeed(uint64_t seed)
    : alone_(scopes()), generator_(at::detail::getDefaultCPUGenerator()) {
  const std::lock_guard<std::mutex> lock(generator_.mutex());
  before_ = generator_.get_state();
  generator_.set_current_seed(seed);
}

ScopedTorchSeed::~ScopedTorchSeed() {
  const std::lock_guard<std::mutex> lock(generator_.mutex());
  generator_.set_state(before_);
}

}  // namespace isinglass
