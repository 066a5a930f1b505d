// Implements energies of discrete models by plain loops.
#include "tests/models/plain_energies.h"

#include <cmath>
#include <stdexcept>

namespace isinglass {
namespace {

torch::Tensor tensor_of(const NamedTensors& tensors, const std::string& key) {
  for (const auto& [name, tensor] : tensors) {
    if (name == key) return tensor;
  }
  throw std::out_of_range(key);
}

double at(const torch::Tensor& t, std::initializer_list<int64_t> index) {
  torch::Tensor element = t;
  for (const int64_t i : index) element = element[i];
  return element.item<double>();
}

std::vector<double> affine(const torch::Tensor& weight, const torch::Tensor& bias,
                           const std::vector<double>& in) {
  const torch::Tensor w = weight.to(torch::kFloat64).contiguous();
  std::vector<double> out;
  for (int64_t o = 0; o < w.size(0); ++o) {
    double sum = at(bias, {o});
    for (size_t i = 0; i < in.size(); ++i) sum += w.data_ptr<double>()[o * w.size(1) + i] * in[i];
    out.push_back(sum);
  }
  return out;
}

}  // namespace

double bernoulli_energy(const NamedTensors& file, const Values& x) {
  const torch::Tensor theta = tensor_of(file, "theta");
  double u = 0;
  for (size_t i = 0; i < x.size(); ++i) u += at(theta, {static_cast<int64_t>(i)}) * x[i];
  return u;
}

double categorical_energy(const NamedTensors& file, const Values& x) {
  const torch::Tensor theta = tensor_of(file, "theta");
  double u = 0;
  for (size_t i = 0; i < x.size(); ++i) u += at(theta, {static_cast<int64_t>(i), x[i]});
  return u;
}

double ising_energy(const NamedTensors& file, const Values& x) {
  const torch::Tensor edges = tensor_of(file, "edges"), coupling = tensor_of(file, "coupling");
  const torch::Tensor field = tensor_of(file, "field");
  const auto spin = [&x](int64_t i) { return x[i] == 1 ? 1.0 : -1.0; };
  double u = 0;
  for (size_t i = 0; i < x.size(); ++i) u -= at(field, {static_cast<int64_t>(i)}) * spin(i);
  for (int64_t e = 0; e < edges.size(0); ++e) {
    const auto i = edges[e][0].item<int64_t>(), j = edges[e][1].item<int64_t>();
    u -= at(coupling, {e}) * spin(i) * spin(j);
  }
  return u;
}

double potts_energy(const NamedTensors& file, const Values& x) {
  const torch::Tensor edges = tensor_of(file, "edges"), coupling = tensor_of(file, "coupling");
  const torch::Tensor field = tensor_of(file, "field");
  double u = 0;
  for (size_t i = 0; i < x.size(); ++i) u -= at(field, {static_cast<int64_t>(i), x[i]});
  for (int64_t e = 0; e < edges.size(0); ++e) {
    const auto i = edges[e][0].item<int64_t>(), j = edges[e][1].item<int64_t>();
    if (coupling.dim() == 3) {
      u -= at(coupling, {e, x[i], x[j]});
    } else if (x[i] == x[j]) {
      u -= at(coupling, {e});
    }
  }
  return u;
}

double parity_energy(const NamedTensors& file, const Values& x) {
  int sum = 0;
  for (const int value : x) sum += value;
  return sum % 2 == 1 ? at(tensor_of(file, "u"), {}) : 0;
}

double permutation_energy(const NamedTensors& file, const Values& x) {
  const torch::Tensor w = tensor_of(file, "w");
  double u = 0;
  for (size_t i = 0; i < x.size(); ++i) u += at(w, {static_cast<int64_t>(i), x[i]});
  return u;
}

double rbm_energy(const NamedTensors& file, const Values& x) {
  const torch::Tensor w = tensor_of(file, "W"), b_v = tensor_of(file, "b_v");
  const torch::Tensor b_h = tensor_of(file, "b_h");
  double u = 0;
  for (size_t i = 0; i < x.size(); ++i) u -= at(b_v, {static_cast<int64_t>(i)}) * x[i];
  for (int64_t h = 0; h < w.size(0); ++h) {
    double input = at(b_h, {h});
    for (size_t i = 0; i < x.size(); ++i) input += at(w, {h, static_cast<int64_t>(i)}) * x[i];
    u -= std::log(1 + std::exp(input));
  }
  return u;
}

double categorical_rbm_energy(const NamedTensors& file, const Values& x) {
  const torch::Tensor w = tensor_of(file, "W"), b_v = tensor_of(file, "b_v");
  const torch::Tensor b_h = tensor_of(file, "b_h");
  double u = 0;
  for (size_t i = 0; i < x.size(); ++i) u -= at(b_v, {static_cast<int64_t>(i), x[i]});
  for (int64_t h = 0; h < w.size(0); ++h) {
    double input = at(b_h, {h});
    for (size_t i = 0; i < x.size(); ++i) input += at(w, {h, static_cast<int64_t>(i), x[i]});
    u -= std::log(1 + std::exp(input));
  }
  return u;
}

double fhmm_energy(const NamedTensors& file, const Values& x) {
  const torch::Tensor y = tensor_of(file, "y"), w = tensor_of(file, "W");
  const double sigma = at(tensor_of(file, "sigma"), {}), init = at(tensor_of(file, "p_init"), {});
  const double stay = at(tensor_of(file, "p_stay"), {});
  const int64_t chains = w.size(0);
  const double others = static_cast<double>(w.size(1) - 1);
  double probability = 1;
  for (int64_t l = 0; l < y.size(0); ++l) {
    double mean = at(tensor_of(file, "b"), {});
    for (int64_t m = 0; m < chains; ++m) {
      const int value = x[l * chains + m];
      mean += at(w, {m, value});
      if (l == 0) {
        probability *= value == 0 ? init : (1 - init) / others;
      } else {
        probability *= value == x[(l - 1) * chains + m] ? stay : (1 - stay) / others;
      }
    }
    const double off = (at(y, {l}) - mean) / sigma;
    probability *= std::exp(-off * off / 2) / (sigma * std::sqrt(2 * M_PI));
  }
  return -std::log(probability);
}

double logistic_energy(const NamedTensors& file, const Values& beta) {
  const torch::Tensor x = tensor_of(file, "X"), y = tensor_of(file, "y");
  double probability = 1;
  for (int64_t m = 0; m < x.size(0); ++m) {
    double input = 0;
    for (size_t i = 0; i < beta.size(); ++i) input += at(x, {m, static_cast<int64_t>(i)}) * beta[i];
    const double one = 1 / (1 + std::exp(-input));
    probability *= at(y, {m}) == 1 ? one : 1 - one;
  }
  return -std::log(probability);
}

double lattice_gaussian_energy(const NamedTensors& file, const Values& x) {
  const torch::Tensor p = tensor_of(file, "precision"), b = tensor_of(file, "mean");
  double u = 0;
  for (int64_t i = 0; i < b.size(0); ++i) {
    for (int64_t j = 0; j < b.size(0); ++j) {
      u += 0.5 * (x[i] - at(b, {i})) * at(p, {i, j}) * (x[j] - at(b, {j}));
    }
  }
  return u;
}

double quartic_energy(const NamedTensors& file, const Values& x) {
  const torch::Tensor b = tensor_of(file, "centers"), s = tensor_of(file, "scale");
  const torch::Tensor r = tensor_of(file, "rotation");
  double sum = 0;
  for (int64_t c = 0; c < b.size(0); ++c) {
    double well = 0;
    for (int64_t d = 0; d < s.size(0); ++d) {
      double u = 0;
      for (int64_t i = 0; i < s.size(0); ++i)
        u += at(r, {d, i}) * (x[i] - at(b, {c, i})) / at(s, {i});
      well += (u + 1) * (u * u + 0.5) * (u - 2);
    }
    sum += std::exp(-well);
  }
  return -std::log(sum);
}

double mlp_energy(const NamedTensors& file, const Values& x, int categories) {
  RealValues inputs;
  for (const int value : x) {
    if (categories == 0) inputs.push_back(value);
    for (int k = 0; k < categories; ++k) inputs.push_back(k == value ? 1 : 0);
  }
  return continuous_mlp_energy(file, inputs);
}

double continuous_mlp_energy(const NamedTensors& file, const RealValues& x) {
  std::vector<double> h = x;
  for (const char* layer : {"0", "2", "4", "6"}) {
    const std::string name = layer;
    h = affine(tensor_of(file, name + ".weight"), tensor_of(file, name + ".bias"), h);
    if (name == "6") break;
    for (double& value : h) value /= 1 + std::exp(-value);
  }
  return -h[0];
}

}  // namespace isinglass
