// See continuous_models.h.
#include "models/continuous_models.h"

#include <cmath>
#include <sstream>

#include "io/error.h"
#include "models/gaussian.h"
#include "models/gaussian_mixture.h"
#include "models/precision.h"
#include "models/product.h"
#include "models/script.h"

namespace isinglass {
namespace {

using ModelPointer = std::shared_ptr<EnergyModel>;

constexpr double kWeightError = 1e-4;  // of a sum of float32 weights

ModelPointer load_gaussian(const ModelOptions& options) {
  ParameterReader reader(options.weights);
  const torch::Tensor mean = reader.real("mean", {-1});
  const torch::Tensor precision = read_precision(reader, {}, mean.size(0));
  reader.finish();
  return std::make_shared<GaussianModel>(mean, precision);
}

ModelPointer load_gaussian_mixture(const ModelOptions& options) {
  ParameterReader reader(options.weights);
  const torch::Tensor means = reader.real("means", {-1, -1});
  const torch::Tensor weights = reader.real("weights", {means.size(0)}).to(torch::kFloat64);
  const torch::Tensor precision = read_precision(reader, {means.size(0)}, means.size(1));
  reader.finish();
  const double sum = weights.sum().item<double>();
  require((weights > 0).all().item<bool>() && std::abs(sum - 1) <= kWeightError,
          "{}: tensor 'weights' must hold positive numbers that sum to 1; they sum to {}",
          reader.source(), sum);
  return std::make_shared<GaussianMixtureModel>(weights / sum, means, precision);
}

ModelPointer load_product(const ModelOptions& options) {
  require(options.factors.size() >= 2,
          "model product needs --factors NAME=FILE.pt,NAME=FILE.pt: two or more models");
  std::vector<ModelPointer> factors;
  for (const NamedFile& factor : options.factors) {
    require(factor.name != "product", "--factors: a factor cannot be a product itself");
    factors.push_back(load_model(factor.name, {.weights = factor.file,
                                               .sites = options.sites,
                                               .image_height = options.image_height,
                                               .image_width = options.image_width,
                                               .continuous = true}));
    const StateSpace first = factors.front()->space(), space = factors.back()->space();
    require(!space.discrete(), "--factors {}: the factors of a product have continuous states",
            factor.name);
    require(space.sites == first.sites, "--factors: {} has {} sites and {} has {}",
            options.factors.front().name, first.sites, factor.name, space.sites);
  }
  return std::make_shared<ProductModel>(std::move(factors));
}

ModelPointer load_script(const ModelOptions& options) {
  require(options.sites.has_value(), "model script needs --sites D: its file does not say");
  StateSpace space{StateKind::kBinary, *options.sites, options.categories.value_or(2)};
  if (options.categories) space.kind = StateKind::kCategorical;
  if (options.continuous) space.kind = StateKind::kContinuous;
  return std::make_shared<ScriptModel>(options.weights, space, options.label);
}

}  // namespace

std::vector<ModelEntry> continuous_models() {
  return {
      {"gaussian", "1/2 (x - m)' P (x - m)", "mean m [D], precision P [D,D] or its diagonal [D]",
       "continuous", true, false, load_gaussian},
      {"gaussian-mixture", "-log sum_c w_c N(x; m_c, P_c^-1)",
       "weights w [C], means m [C,D], precision P [C,D,D] or diagonals [C,D]", "continuous", true,
       false, load_gaussian_mixture},
      {"product", "sum of the factors' energies", "none; --factors NAME=FILE.pt,NAME=FILE.pt",
       "continuous", true, false, load_product, /*weights=*/false},
      {"script",
       "whatever the TorchScript module returns for float [B,D] or one-hot [B,D,K]; of a "
       "classifier "
       "-f(x)[y], --class y",
       "a TorchScript file, which is a program: load only what you trust; and --sites D",
       "continuous, binary, categorical (--categories)", true, false, load_script},
  };
}

std::vector<NamedFile> named_files(const std::string& text, const std::string& flag) {
  std::vector<NamedFile> files;
  std::istringstream in(text);
  for (std::string item; std::getline(in, item, ',');) {
    const size_t equals = item.find('=');
    require(equals != std::string::npos && equals > 0 && equals + 1 < item.size(),
            "--{} has '{}'; NAME=FILE.pt is needed, a model and its parameter file", flag, item);
    files.push_back({item.substr(0, equals), item.substr(equals + 1)});
  }
  require(!files.empty() && text.back() != ',', "--{} is '{}'; NAME=FILE.pt is needed", flag, text);
  return files;
}

}  // namespace isinglass
