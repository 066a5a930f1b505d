// Standard instances with continuous states: the targets of "Follow Hamiltonian Leader".
#include "io/error.h"
#include "models/combined/wrong_gradient.h"
#include "models/density/gaussian.h"
#include "models/instances/entry.h"

namespace isinglass {
namespace {

using ModelPointer = std::shared_ptr<EnergyModel>;

// Makes a normal distribution around an image of the training set, with variances Unif(0.25, 1.25)
// ("Follow Hamiltonian Leader", §5.1.1).
ModelPointer make_image_gaussian(const Numbers& n) {
  const torch::Tensor pixels = n.images().pixels();
  const int64_t index = n.whole("index");
  require(index < pixels.size(0),
          "instance image-gaussian: index is {}, but the data set has {} images", index,
          pixels.size(0));
  const torch::Tensor mean = pixels[index];
  return std::make_shared<GaussianModel>(mean, 1 / (0.25 + n.uniform(mean.sizes())));
}

// Makes modes at images of two classes, one of which is right. Chains start at the mean of the
// other class ("Follow Hamiltonian Leader", §A.2.2).
ModelPointer make_image_modes(const Numbers& n) {
  const torch::Tensor pixels = n.images().pixels(), labels = n.images().labels();
  const int64_t count = n.whole("count");
  const auto images_of = [&](const char* key) {
    const torch::Tensor places = (labels == n.whole(key)).nonzero().flatten();
    require(places.size(0) >= count,
            "instance image-modes: class {} has {} images, but {} are needed", n.whole(key),
            places.size(0), count);
    return pixels.index_select(0, places.slice(0, 0, count));
  };
  const torch::Tensor right = images_of("right"), wrong = images_of("wrong");
  return wrong_gradient_modes({torch::cat({right, wrong}), torch::arange(2 * count) < count,
                               n["variance"], n["radius"], n["refusal"]},
                              {wrong.mean(0), 0});
}

}  // namespace

std::vector<Instance> continuous_instances() {
  return {
      {"misled-mixture",
       {},
       [](const Numbers&) -> ModelPointer { return wrong_gradient_mixture(); }},
      {"misled-flat",
       {{"slope", 1e-6, 0}},
       [](const Numbers& n) -> ModelPointer { return wrong_gradient_flat(n["slope"]); }},
      {"misled-rings",
       {{"variance", 0.002, 1e-6}, {"radius", 0.2, 0}, {"refusal", 20, 0}},
       [](const Numbers& n) -> ModelPointer {
         return wrong_gradient_rings(n["variance"], n["radius"], n["refusal"]);
       }},
      {"image-gaussian", {count("index", 0, 0)}, make_image_gaussian, /*images=*/true},
      {"image-modes",
       {count("right", 7, 0),
        count("wrong", 1, 0),
        count("count", 100),
        {"variance", 0.002, 1e-6},
        {"radius", 2, 0},
        {"refusal", 20, 0}},
       make_image_modes,
       /*images=*/true},
  };
}

}  // namespace isinglass
