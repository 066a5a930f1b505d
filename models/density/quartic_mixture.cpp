// Implements the energy of the quartic mixture.
#include "models/density/quartic_mixture.h"

#include "io/error.h"
#include "models/parameter_file.h"
#include "models/registry.h"

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

namespace {

std::shared_ptr<EnergyModel> load_quartic_mixture(const ModelOptions& options) {
  const int64_t categories = needed_categories(options, "quartic-mixture");
  ParameterReader reader = options.reader();
  const torch::Tensor scale = reader.real("scale", {-1});
  const int64_t sites = scale.size(0);
  const torch::Tensor centers = reader.real("centers", {-1, sites});
  const torch::Tensor rotation = reader.real("rotation", {sites, sites});
  reader.finish();
  require(centers.size(0) > 0, "{}: tensor 'centers' is empty", reader.source());
  require((scale > 0).all().item<bool>(), "{}: tensor 'scale' must be positive", reader.source());
  const torch::Tensor product = rotation.matmul(rotation.t());
  require(torch::allclose(product, torch::eye(sites, product.options()), 0, 1e-4),
          "{}: tensor 'rotation' is not orthogonal", reader.source());
  return std::make_shared<QuarticMixtureModel>(centers, scale, rotation, categories);
}

}  // namespace

std::vector<ModelEntry> quartic_mixture_models() {
  return {{"quartic-mixture",
           "-log sum_c exp(-sum_d (u_d + 1)(u_d^2 + 1/2)(u_d - 2)), u = R((x - b_c)/s)",
           "centers [C,D], scale [D], rotation [D,D]; and `categories` K", "ordered", true,
           load_quartic_mixture}};
}

}  // namespace isinglass
