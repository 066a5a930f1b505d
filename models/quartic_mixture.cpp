// See quartic_mixture.h.
#include "models/quartic_mixture.h"

namespace isinglass {

QuarticMixtureModel::QuarticMixtureModel(const torch::Tensor& centers, const torch::Tensor& scale,
                                         const torch::Tensor& rotation, int64_t categories)
    : centers_(register_buffer("centers", centers.to(torch::kFloat64))),
      scale_(register_buffer("scale", scale.to(torch::kFloat64))),
      rotation_(register_buffer("rotation", rotation.to(torch::kFloat64))),
      categories_(categories) {}

torch::Tensor QuarticMixtureModel::energy(const torch::Tensor& x) {
  const torch::Tensor off = relaxed(x).to(torch::kFloat64).unsqueeze(1) - centers_;
  const torch::Tensor u = (off / scale_).matmul(rotation_.t());  // [B, C, D]
  const torch::Tensor well = (u + 1) * (u.square() + 0.5) * (u - 2);
  return -torch::logsumexp(-well.sum(2), 1);
}

}  // namespace isinglass
