// See seeded.h.
#include "models/seeded.h"

#include <ATen/CPUGeneratorImpl.h>

namespace isinglass {
namespace {

std::recursive_mutex& scopes() {
  static std::recursive_mutex mutex;
  return mutex;
}

}  // namespace

Seeded::Seeded(uint64_t seed)
    : alone_(scopes()),
      generator_(at::detail::getDefaultCPUGenerator()),
      type_(c10::get_default_dtype()) {
  const std::lock_guard<std::mutex> lock(generator_.mutex());
  before_ = generator_.get_state();
  generator_.set_current_seed(seed);
  c10::set_default_dtype(caffe2::TypeMeta::Make<float>());
}

Seeded::~Seeded() {
  c10::set_default_dtype(type_);
  const std::lock_guard<std::mutex> lock(generator_.mutex());
  generator_.set_state(before_);
}

}  // namespace isinglass
