// See adaptation.h.
#include "engine/adaptation.h"

#include <cmath>

#include "engine/sampler.h"

namespace isinglass {

void adapt_scale(torch::Tensor value, const Scale& range, const Statistics& statistics, int64_t t,
                 double target) {
  const double gain = std::pow(static_cast<double>(t + 1), -0.6);
  const torch::Tensor excess = statistics.acceptance.mean() - target;
  value.mul_(torch::exp(gain * excess)).clamp_(range.least, range.most);
}

}  // namespace isinglass
