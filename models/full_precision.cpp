// See full_precision.h.
#include "models/full_precision.h"

#include <ATen/Context.h>

namespace isinglass {
namespace {

std::string word_for(at::Float32MatmulPrecision precision) {
  switch (precision) {
    case at::Float32MatmulPrecision::HIGH:
      return "high";
    case at::Float32MatmulPrecision::MEDIUM:
      return "medium";
    default:
      return "highest";
  }
}

}  // namespace

FullPrecision::FullPrecision()
    : convolutions_(at::globalContext().allowTF32CuDNN()),
      products_(word_for(at::globalContext().float32MatmulPrecision())) {
  if (convolutions_) at::globalContext().setAllowTF32CuDNN(false);
  if (products_ != "highest") at::globalContext().setFloat32MatmulPrecision("highest");
}

FullPrecision::~FullPrecision() {
  if (convolutions_) at::globalContext().setAllowTF32CuDNN(true);
  if (products_ != "highest") at::globalContext().setFloat32MatmulPrecision(products_);
}

}  // namespace isinglass
