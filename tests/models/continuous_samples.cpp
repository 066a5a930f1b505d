// Implements the samples of continuous models, and of models whose file is not a dictionary of
// tensors.
#include <cmath>

#include "tests/models/samples.h"
#include "tests/models/script_files.h"

namespace isinglass {
namespace {

constexpr double kTwoPi = 6.283185307179586;

torch::Tensor double_of(const NamedTensors& tensors, const std::string& key) {
  for (const auto& [name, tensor] : tensors) {
    if (name == key) return tensor.to(torch::kFloat64);
  }
  throw std::out_of_range(key);
}

// (x − m)ᵀ P (x − m)
double quadratic(const torch::Tensor& mean, const torch::Tensor& precision, const RealValues& x) {
  const auto sites = static_cast<int64_t>(x.size());
  double sum = 0;
  for (int64_t i = 0; i < sites; ++i) {
    for (int64_t j = 0; j < sites; ++j) {
      if (precision.dim() == 1 && i != j) continue;
      const double p =
          precision.dim() == 1 ? precision[i].item<double>() : precision[i][j].item<double>();
      sum += p * (x[i] - mean[i].item<double>()) * (x[j] - mean[j].item<double>());
    }
  }
  return sum;
}

double determinant(const torch::Tensor& precision) {
  return precision.dim() == 1 ? precision.prod().item<double>()
                              : at::linalg_det(precision).item<double>();
}

double gaussian_energy(const NamedTensors& file, const RealValues& x) {
  return 0.5 * quadratic(double_of(file, "mean"), double_of(file, "precision"), x);
}

double mixture_energy(const NamedTensors& file, const RealValues& x) {
  const torch::Tensor weights = double_of(file, "weights"), means = double_of(file, "means");
  const torch::Tensor precision = double_of(file, "precision");
  double density = 0;
  for (int64_t c = 0; c < weights.size(0); ++c) {
    density += weights[c].item<double>() / weights.sum().item<double>() *
               std::sqrt(determinant(precision[c])) *
               std::exp(-0.5 * quadratic(means[c], precision[c], x)) /
               std::pow(kTwoPi, 0.5 * static_cast<double>(x.size()));
  }
  return -std::log(density);
}

torch::Tensor positive_definite(int64_t sites) {
  const torch::Tensor a = torch::randn({sites, sites});
  return a.mm(a.t()) + 0.5 * torch::eye(sites);
}

NamedTensors gaussian_file(int64_t sites) {
  return {{"mean", torch::randn({sites})}, {"precision", positive_definite(sites)}};
}

NamedTensors mixture_file(bool diagonal) {
  const torch::Tensor precision =
      diagonal ? 0.5 + torch::rand({3, 4})
               : torch::stack({positive_definite(4), positive_definite(4), positive_definite(4)});
  return {{"weights", torch::tensor({0.5, 0.3, 0.2})},
          {"means", torch::randn({3, 4})},
          {"precision", precision}};
}

// U(x) = Σ_i (x_i⁴/4 − x_i²/2) + x_0 x_1
const char* const kQuartic =
    "def forward(self, x):\n"
    "    return (x**4 / 4 - x**2 / 2).flatten(1).sum(1) + x.flatten(1)[:, 0] * x.flatten(1)[:, "
    "1]\n";

double continuous_quartic_energy(const NamedTensors&, const RealValues& x) {
  double u = x[0] * x[1];
  for (const double v : x) u += v * v * v * v / 4 - v * v / 2;
  return u;
}

}  // namespace

std::vector<ModelSample> continuous_samples() {
  torch::manual_seed(12);
  const NamedTensors gaussian = gaussian_file(4), mixture = mixture_file(true);
  return {
      {.label = "gaussian",
       .model = "gaussian",
       .tensors = gaussian,
       .real_energy = gaussian_energy},
      {.label = "gaussian_diagonal",
       .model = "gaussian",
       .tensors = {{"mean", torch::randn({5})}, {"precision", 0.5 + torch::rand({5})}},
       .real_energy = gaussian_energy},
      {.label = "gaussian_mixture",
       .model = "gaussian-mixture",
       .tensors = mixture_file(false),
       .real_energy = mixture_energy},
      {.label = "gaussian_mixture_diagonal",
       .model = "gaussian-mixture",
       .tensors = mixture,
       .real_energy = mixture_energy},
      {.label = "product",
       .model = "product",
       .real_energy =
           [=](const NamedTensors&, const RealValues& x) {
             return gaussian_energy(gaussian, x) + mixture_energy(mixture, x);
           },
       .write =
           [=](const std::filesystem::path& folder, ModelOptions& options) {
             write_named_tensors(folder / "a.pt", gaussian);
             write_named_tensors(folder / "b.pt", mixture);
             options.factors = {{"gaussian", folder / "a.pt"},
                                {"gaussian-mixture", folder / "b.pt"}};
           }},
      {.label = "script",
       .model = "script",
       .options = {.sites = 4, .continuous = true},
       .real_energy = continuous_quartic_energy,
       .write =
           [](const std::filesystem::path& folder, ModelOptions& options) {
             options.weights = folder / "script.pt";
             write_script(options.weights, kQuartic);
           }},
  };
}

}  // namespace isinglass
