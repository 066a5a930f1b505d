// Implements the samples of discrete models.
#include "tests/models/samples.h"

#include <algorithm>
#include <cmath>

#include "io/error.h"
#include "io/files.h"
#include "models/network/resnet.h"
#include "models/scoped_torch_seed.h"
#include "models/text_tensor.h"
#include "tests/models/plain_energies.h"
#include "tests/support/scratch.h"

namespace isinglass {
namespace {

// Variables 0 → 2 ← 1 and 2 → 3; one probability is 0.
const char* const kNetwork = R"(BAYES
4
2 2 2 2
4
1 0
1 1
3 1 0 2
2 2 3
2
 0.3 0.7
2
 0.6 0.4
8
 0.1 0.9 0.2 0.8
 0.35 0.65 0.5 0.5
4
 1.0 0.0
 0.25 0.75
)";

double network_energy(const NamedTensors&, const Values& x) {
  const double two[2][2] = {{0.9, 0.8}, {0.65, 0.5}};  // p(x_2 = 1 | x_1, x_0)
  double p = (x[0] ? 0.7 : 0.3) * (x[1] ? 0.4 : 0.6);
  p *= x[2] ? two[x[1]][x[0]] : 1 - two[x[1]][x[0]];
  const double three = x[2] ? 0.75 : 1e-30;
  return -std::log(p) - std::log(x[3] ? three : (x[2] ? 0.25 : 1.0));
}

// The edges 0-1, 1-2, 2-0, 3-0, 4-3 with these weights; vertex 5 has none.
constexpr int kPairs[5][2] = {{0, 1}, {1, 2}, {2, 0}, {3, 0}, {4, 3}};
constexpr double kCuts[5] = {1.25, -0.5, 2, 0.75, 1.5};

bool adjacent(int u, int v) {
  return std::any_of(std::begin(kPairs), std::end(kPairs), [&](const int(&pair)[2]) {
    return (pair[0] == u && pair[1] == v) || (pair[0] == v && pair[1] == u);
  });
}

double cut_energy(const NamedTensors&, const Values& x) {
  double u = 0;
  for (int e = 0; e < 5; ++e) u -= x[kPairs[e][0]] != x[kPairs[e][1]] ? kCuts[e] : 0;
  return u;
}

// Chosen vertices count −1, chosen pairs that are adjacent (or that are not) the penalty.
double chosen_energy(const Values& x, bool forbidden, double penalty) {
  double u = 0;
  for (int i = 0; i < 6; ++i) {
    u -= x[i];
    for (int j = 0; j < i; ++j) u += x[i] && x[j] && adjacent(i, j) == forbidden ? penalty : 0;
  }
  return u;
}

ModelSample graph_sample(const std::string& model, std::optional<double> penalty,
                         std::function<double(const NamedTensors&, const Values&)> energy) {
  return {.label = model,
          .model = model,
          .options = {.penalty = penalty},
          .lattice = true,
          .energy = std::move(energy),
          .write = [](const std::filesystem::path& folder, ModelOptions& options) {
            std::string text = "6 5\n";
            for (int e = 0; e < 5; ++e) {
              text += fmt::format("{} {} {}\n", kPairs[e][0], kPairs[e][1], kCuts[e]);
            }
            options.weights = folder / "graph.txt";
            write_file(options.weights, text);
          }};
}

// A quadratic function of binary variables: three linear terms, one pair in both directions.
double qubo_energy(const NamedTensors&, const Values& x) {
  return 0.5 + 1.25 * x[0] - 2 * x[2] + 0.75 * x[4] + 1.5 * x[0] * x[1] - 3 * x[1] * x[2] +
         2.25 * x[3] * x[4];
}

// A spin glass as dimod writes it.
double spin_energy(const NamedTensors&, const Values& x) {
  const auto s = [&](int i) { return 2 * static_cast<int>(x[i]) - 1; };
  return 1.25 * s(0) - 0.5 * s(1) * s(2) + 2 * s(0) * s(3) + 0.25;
}

ModelSample text_sample(const std::string& label, const std::string& model, const std::string& text,
                        double (*energy)(const NamedTensors&, const Values&)) {
  return {.label = label,
          .model = model,
          .lattice = true,
          .energy = energy,
          .write = [text](const std::filesystem::path& folder, ModelOptions& options) {
            options.weights = folder / "function.txt";
            write_file(options.weights, text);
          }};
}

torch::Tensor sample_edges() {
  // A site with no edge (5), one with three, a repeated edge.
  return torch::tensor({0, 1, 1, 2, 2, 0, 3, 0, 4, 3, 1, 0}, torch::kInt64).view({6, 2});
}

torch::Tensor lattice_precision(int64_t size) {
  const torch::Tensor a = torch::randn({size, size});
  return 0.3 * (a.matmul(a.t()) + torch::eye(size));
}

NamedTensors fhmm_file(int64_t values) {
  return {{"y", torch::randn({3})},        {"W", torch::randn({2, values})},
          {"b", torch::tensor(0.3f)},      {"sigma", torch::tensor(0.8f)},
          {"p_init", torch::tensor(0.7f)}, {"p_stay", torch::tensor(0.85f)}};
}

NamedTensors mlp_file(int64_t inputs) {
  return {{"0.weight", torch::randn({256, inputs})},     {"0.bias", torch::randn({256})},
          {"2.weight", torch::randn({256, 256}) * 0.08}, {"2.bias", torch::randn({256})},
          {"4.weight", torch::randn({256, 256}) * 0.08}, {"4.bias", torch::randn({256})},
          {"6.weight", torch::randn({1, 256}) * 0.2},    {"6.bias", torch::randn({1})}};
}

NamedTensors resnet_file(int64_t height, int64_t width, const torch::Tensor& mean,
                         int64_t categories = 0, bool linear_head = false) {
  const ScopedTorchSeed generator(5);
  const auto fresh =
      linear_head ? std::make_shared<ResNetModel>(
                        ResNetModel::Shape{height, width, 3, categories, 2, linear_head}, mean)
                  : new_model("resnet",
                              {.image_height = height,
                               .image_width = width,
                               .channels = 3,
                               .categories = categories,
                               .proj = 2,
                               .base_mean = mean},
                              5);
  NamedTensors file;
  for (const auto& p : fresh->named_parameters()) {
    const torch::Tensor value = p.value().detach();
    const bool embeds = p.key() == "proj.weight", sums = p.key() == "energy_linear.weight";
    // Models with initial parameters are nearly constant and, for categorical states, nearly
    // linear.
    const double scale = categories > 0 ? (sums || embeds ? 10 : 1) : sums ? 40 : 2.5;
    file.emplace_back(p.key(), value.dim() > 1 ? scale * value : value);
  }
  if (mean.defined()) file.emplace_back("mean", mean);
  return file;
}

struct ResidualKind {
  std::string kinds;
  double bound;
  int categories;  // of the one-hot input; 0 if the input holds the values themselves
};

// Makes a multilayer perceptron on a base.
ModelSample residual_sample(const std::string& label, NamedTensors network, NamedTensors base,
                            const ResidualKind& kind,
                            double (*base_energy)(const NamedTensors&, const Values&)) {
  const auto energy = [=](const NamedTensors&, const Values& x) {
    const double f = mlp_energy(network, x, kind.categories), c = kind.bound;
    return base_energy(base, x) + (c > 0 ? c * std::tanh(f / c) : f);
  };
  NamedTensors file = network;
  for (const auto& [name, tensor] : base) file.emplace_back("base." + name, tensor);
  file.emplace_back("residual.kinds", bytes_of(kind.kinds));
  file.emplace_back("residual.bound", torch::tensor(kind.bound, torch::kFloat64));
  file.emplace_back("residual.log_z", torch::tensor({3.5, 0.25}, torch::kFloat64));
  file.emplace_back("residual.base_sha256", bytes_of("abc"));
  return {.label = label, .model = "residual", .tensors = file, .energy = energy};
}

}  // namespace

std::vector<ModelSample> model_samples() {
  torch::manual_seed(11);
  const auto randn = [](at::IntArrayRef shape) { return torch::randn(shape); };
  const torch::Tensor edges = sample_edges(), mean = 0.05 + 0.9 * torch::rand({30});
  const torch::Tensor frequencies =
      torch::softmax(torch::sin(torch::arange(60.0).view({20, 3})), 1);
  const auto with = [](std::optional<int64_t> categories, int64_t height, int64_t width) {
    return ModelOptions{.categories = categories, .image_height = height, .image_width = width};
  };
  const auto mlp_with = [](int categories) {
    return [categories](const NamedTensors& file, const Values& x) {
      return mlp_energy(file, x, categories);
    };
  };
  std::vector<ModelSample> samples = {
      {"bernoulli", "bernoulli", {{"theta", randn({7})}}, {}, true, bernoulli_energy},
      {"categorical", "categorical", {{"theta", randn({5, 4})}}, {}, true, categorical_energy},
      {"ising",
       "ising",
       {{"edges", edges}, {"coupling", randn({6})}, {"field", randn({6})}},
       {},
       true,
       ising_energy},
      {"potts",
       "potts",
       {{"edges", edges}, {"coupling", randn({6})}, {"field", randn({6, 3})}},
       {},
       true,
       potts_energy},
      {"potts_two_values",
       "potts",
       {{"edges", edges}, {"coupling", randn({6})}, {"field", randn({6, 2})}},
       {},
       true,
       potts_energy},
      {"rbm",
       "rbm",
       {{"W", randn({5, 8})}, {"b_v", randn({8})}, {"b_h", randn({5})}},
       {},
       false,
       rbm_energy},
      {"rbm_categorical",
       "rbm",
       {{"W", randn({5, 6, 3})}, {"b_v", randn({6, 3})}, {"b_h", randn({5})}},
       {},
       false,
       categorical_rbm_energy},
      {"fhmm", "fhmm", fhmm_file(2), {}, false, fhmm_energy},
      {"fhmm_categorical", "fhmm", fhmm_file(3), {}, false, fhmm_energy},
      {"logistic",
       "logistic",
       {{"X", randn({9, 6})}, {"y", (torch::rand({9}) < 0.5).to(torch::kFloat32)}},
       {},
       false,
       logistic_energy},
      {"lattice_gaussian",
       "lattice-gaussian",
       {{"precision", lattice_precision(5)}, {"mean", 2 + randn({5})}},
       {.categories = 4},
       false,
       lattice_gaussian_energy},
      {"quartic_mixture",
       "quartic-mixture",
       {{"centers", 1.5 + randn({3, 4})},
        {"scale", 1 + torch::rand({4})},
        {"rotation", std::get<0>(torch::linalg_qr(randn({4, 4})))}},
       {.categories = 4},
       false,
       quartic_energy},
      {.label = "bayesnet",
       .model = "bayesnet",
       .energy = network_energy,
       .write =
           [](const std::filesystem::path& folder, ModelOptions& options) {
             options.weights = folder / "network.uai";
             write_file(options.weights, kNetwork);
           }},
      graph_sample("maxcut", {}, cut_energy),
      graph_sample("mis", 1.3,
                   [](const NamedTensors&, const Values& x) {
                     return chosen_energy(x, /*forbidden=*/true, 1.3);
                   }),
      graph_sample("maxclique", 2.0,
                   [](const NamedTensors&, const Values& x) {
                     return chosen_energy(x, /*forbidden=*/false, 2);
                   }),
      text_sample("qubo", "qubo",
                  "# offset 0.5\n0 0 1.25\n2 2 -2\n4 4 .75\n0 1 .5\n1 0 1\n1 2 -3\n3 4 2.25\n",
                  qubo_energy),
      text_sample("ising_text", "ising",
                  "# vartype=SPIN\n# offset 0.25\n0 0 1.25\n1 2 -.5\n0 3 2\n", spin_energy),
      {"parity", "parity", {{"u", randn({})}}, {.sites = 7}, false, parity_energy},
      {"permutation", "permutation", {{"w", randn({6, 6})}}, {}, false, permutation_energy},
      {"mlp", "mlp", mlp_file(9), {}, false, mlp_with(0)},
      {"mlp_categorical", "mlp", mlp_file(12), with(3, 28, 28), false, mlp_with(3)},
      {"resnet", "resnet", resnet_file(5, 6, {}), with({}, 5, 6), false, {}},
      {"resnet_base", "resnet", resnet_file(5, 6, mean), with({}, 5, 6), false, {}},
      {"resnet_categorical", "resnet", resnet_file(4, 5, {}, 3), with({}, 4, 5), false, {}},
      {"resnet_categorical_base",
       "resnet",
       resnet_file(4, 5, frequencies, 3),
       with({}, 4, 5),
       false,
       {}},
      {.label = "mlp_continuous",
       .model = "mlp",
       .tensors = mlp_file(5),
       .options = {.continuous = true},
       .real_energy = continuous_mlp_energy},
  };
  for (ModelSample& sample : continuous_samples()) samples.push_back(std::move(sample));
  // Samples from here on leave the random numbers of those before them as they are.
  samples.push_back({"resnet_linear_head",
                     "resnet",
                     resnet_file(5, 6, {}, 0, /*linear_head=*/true),
                     with({}, 5, 6),
                     false,
                     {}});
  samples.push_back({"resnet_categorical_linear_head",
                     "resnet",
                     resnet_file(4, 5, frequencies, 3, /*linear_head=*/true),
                     with({}, 4, 5),
                     false,
                     {}});
  const NamedTensors rbm = {{"W", randn({5, 8})}, {"b_v", randn({8})}, {"b_h", randn({5})}};
  samples.push_back(residual_sample("residual", mlp_file(8), rbm, {"mlp rbm", 2.5, 0}, rbm_energy));
  samples.push_back(
      residual_sample("residual_unbounded", mlp_file(8), rbm, {"mlp rbm", 0, 0}, rbm_energy));
  samples.push_back(
      residual_sample("residual_ising", mlp_file(6),
                      {{"edges", edges}, {"coupling", randn({6})}, {"field", randn({6})}},
                      {"mlp ising", 4, 0}, ising_energy));
  samples.push_back(residual_sample("residual_categorical", mlp_file(12),
                                    {{"theta", randn({4, 3})}}, {"mlp categorical", 3, 3},
                                    categorical_energy));
  for (const int64_t values : {3, 2}) {
    samples.push_back({values == 2 ? "potts_tables_two_values" : "potts_tables",
                       "potts",
                       {{"edges", edges},
                        {"coupling", randn({6, values, values})},
                        {"field", randn({6, values})}},
                       {},
                       true,
                       potts_energy});
  }
  return samples;
}

std::vector<ModelSample> samples_that(
    const std::function<bool(const ModelSample&, EnergyModel&)>& fit) {
  using Loaded = std::pair<ModelSample, std::shared_ptr<EnergyModel>>;
  static const std::vector<Loaded> all = [] {
    std::vector<Loaded> loaded;
    for (const ModelSample& sample : model_samples()) {
      loaded.emplace_back(sample, load_sample(sample));
    }
    return loaded;
  }();
  std::vector<ModelSample> samples;
  for (const auto& [sample, model] : all) {
    if (fit(sample, *model)) samples.push_back(sample);
  }
  return samples;
}

std::shared_ptr<EnergyModel> load_sample(const ModelSample& sample) {
  const Scratch scratch;
  ModelOptions options = sample.options;
  if (sample.write) {
    sample.write(scratch.folder(), options);
  } else {
    options.weights = scratch / "weights.pt";
    write_named_tensors(options.weights, sample.tensors);
  }
  return load_model(sample.model, options);
}

torch::Tensor some_states(const StateSpace& space, int64_t count) {
  torch::manual_seed(3);
  if (space.kind == StateKind::kPermutation) {
    return std::get<1>(torch::rand({count, space.sites}).sort(1));
  }
  if (!space.discrete()) return torch::randn({count, space.sites});
  return torch::randint(space.categories, {count, space.sites}, torch::kUInt8);
}

void replace(NamedTensors& tensors, const std::string& key, const torch::Tensor& value) {
  for (auto& [name, tensor] : tensors) {
    if (name != key) continue;
    tensor = value;
    return;
  }
  throw std::out_of_range(key);
}

}  // namespace isinglass
