// The models by name: one line each, with the reader of its parameter file.
#include "models/registry.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "io/error.h"
#include "models/bernoulli.h"
#include "models/categorical.h"
#include "models/continuous_models.h"
#include "models/ising.h"
#include "models/mlp.h"
#include "models/parameter_file.h"
#include "models/parity.h"
#include "models/permutation.h"
#include "models/potts.h"
#include "models/rbm.h"
#include "models/resnet.h"

namespace isinglass {
namespace {

using ModelPointer = std::shared_ptr<EnergyModel>;

constexpr int64_t kMostCategories = 256;

void check_categories(const ParameterReader& reader, const char* key, const torch::Tensor& t) {
  require(t.size(1) >= 2 && t.size(1) <= kMostCategories,
          "{}: tensor '{}' has {} categories; 2 to {} are allowed", reader.source(), key, t.size(1),
          kMostCategories);
}

ModelPointer load_bernoulli(const ModelOptions& options) {
  ParameterReader reader(options.weights);
  const torch::Tensor theta = reader.real("theta", {-1});
  reader.finish();
  return std::make_shared<BernoulliModel>(theta);
}

ModelPointer load_categorical(const ModelOptions& options) {
  ParameterReader reader(options.weights);
  const torch::Tensor theta = reader.real("theta", {-1, -1});
  reader.finish();
  check_categories(reader, "theta", theta);
  return std::make_shared<CategoricalModel>(theta);
}

ModelPointer load_ising(const ModelOptions& options) {
  ParameterReader reader(options.weights);
  const torch::Tensor field = reader.real("field", {-1});
  const torch::Tensor edges = read_edges(reader, field.size(0));
  const torch::Tensor coupling = reader.real("coupling", {edges.size(0)});
  reader.finish();
  return std::make_shared<IsingModel>(edges, coupling, field);
}

ModelPointer load_potts(const ModelOptions& options) {
  ParameterReader reader(options.weights);
  const torch::Tensor field = reader.real("field", {-1, -1});
  check_categories(reader, "field", field);
  const torch::Tensor edges = read_edges(reader, field.size(0));
  const torch::Tensor coupling = reader.real("coupling", {edges.size(0)});
  reader.finish();
  return std::make_shared<PottsModel>(edges, coupling, field);
}

ModelPointer load_parity(const ModelOptions& options) {
  require(options.sites.has_value(), "model parity needs --sites D: its parameters do not say");
  ParameterReader reader(options.weights);
  const torch::Tensor u = reader.real("u", {});
  reader.finish();
  return std::make_shared<ParityModel>(u, *options.sites);
}

ModelPointer load_permutation(const ModelOptions& options) {
  ParameterReader reader(options.weights);
  const torch::Tensor w = reader.real("w", {-1, -1});
  reader.finish();
  require(w.size(0) == w.size(1) && w.size(0) >= 2,
          "{}: tensor 'w' has shape [{}, {}]; it must be square, 2 x 2 or larger", reader.source(),
          w.size(0), w.size(1));
  return std::make_shared<PermutationModel>(w);
}

ModelPointer load_rbm(const ModelOptions& options) {
  ParameterReader reader(options.weights);
  const torch::Tensor w = reader.real("W", {-1, -1});
  const torch::Tensor b_v = reader.real("b_v", {w.size(1)});
  const torch::Tensor b_h = reader.real("b_h", {w.size(0)});
  reader.finish();
  return std::make_shared<RbmModel>(w, b_v, b_h);
}

// The number of inputs tells the sites; --categories K makes the input one-hot.
ModelPointer load_mlp(const ModelOptions& options) {
  ParameterReader reader(options.weights);
  const int64_t inputs = reader.peek("0.weight", {MlpModel::kWidth, -1}).size(1);
  const int64_t categories = options.categories.value_or(2);
  const int64_t per_site = options.categories ? categories : 1;
  require(inputs % per_site == 0, "{}: {} inputs are not a multiple of --categories {}",
          reader.source(), inputs, categories);
  const StateKind kind = options.continuous   ? StateKind::kContinuous
                         : options.categories ? StateKind::kCategorical
                                              : StateKind::kBinary;
  const auto model = std::make_shared<MlpModel>(StateSpace{kind, inputs / per_site, categories});
  load_state(*model, reader);
  return model;
}

ModelPointer load_resnet(const ModelOptions& options) {
  ParameterReader reader(options.weights);
  const int64_t height = options.image_height, width = options.image_width;
  const int64_t channels = reader.peek("proj.weight", {-1, 1, 3, 3}).size(0);
  require(channels >= 1, "{}: tensor 'proj.weight' has no channels", reader.source());
  // The file really holds so many channels: a crafted one cannot make the model allocate more.
  reader.peek("net.0.conv1.weight", {channels, channels, 3, 3});
  torch::Tensor mean;
  if (reader.has("mean")) {
    mean = reader.peek("mean", {-1});
    ResNetModel::check_base_mean(mean, height, width, reader.source());
  }
  const auto model = std::make_shared<ResNetModel>(height, width, channels, mean);
  load_state(*model, reader);
  return model;
}

}  // namespace

const std::vector<ModelEntry>& model_registry() {
  static const std::vector<ModelEntry> entries = [] {
    std::vector<ModelEntry> all = {
        {"bernoulli", "sum_i theta_i x_i", "theta [D]", "binary", true, false, load_bernoulli},
        {"categorical", "sum_i theta_{i,x_i}", "theta [D,K]", "categorical", true, false,
         load_categorical},
        {"ising", "-sum_i h_i z_i - sum_e J_e z_i z_j, z = 2x - 1",
         "edges int64 [E,2], coupling [E], field [D]", "binary", true, false, load_ising},
        {"potts", "-sum_i theta_{i,x_i} - sum_e J_e [x_i = x_j]",
         "edges int64 [E,2], coupling [E], field [D,K]", "categorical", true, false, load_potts},
        {"rbm", "-b_v.v - sum_h softplus(b_h + W_h.v)", "W [H,D], b_v [D], b_h [H]", "binary", true,
         true, load_rbm},
        {"parity", "u (sum_i x_i mod 2)", "u []; and --sites D", "binary", false, false,
         load_parity},
        {"permutation", "sum_i w_{i,rho(i)}", "w [p,p]", "permutation", false, false,
         load_permutation},
        {"mlp", "-net(x), three layers of 256", "{0,2,4,6}.{weight,bias}",
         "binary, categorical (--categories), continuous", true, true, load_mlp},
        {"resnet", "-net(x) [- log Bernoulli(x; mean)]",
         "proj, net.{0..7}, energy_linear [, mean [D]]", "binary images", true, true, load_resnet},
    };
    for (ModelEntry& entry : continuous_models()) all.push_back(std::move(entry));
    return all;
  }();
  return entries;
}

const ModelEntry& find_model(const std::string& name) {
  std::vector<std::string> names;
  for (const ModelEntry& entry : model_registry()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  fail("unknown model '{}'; known: {}", name, fmt::join(nearest_first(name, names), ", "));
}

std::shared_ptr<EnergyModel> load_model(const std::string& name, const ModelOptions& options) {
  const ModelEntry& entry = find_model(name);
  require(!entry.weights || !options.weights.empty(), "model {} needs --weights FILE.pt with {}",
          name, entry.parameters);
  const int64_t categories = options.categories.value_or(2);
  require(categories >= 2 && categories <= kMostCategories,
          "--categories is {}; 2 to {} are allowed", categories, kMostCategories);
  const ModelPointer model = entry.load(options);
  const StateSpace space = model->space();
  require(space.sites >= 1, "{}: the model has no sites", options.weights.string());
  require(!options.sites || *options.sites == space.sites, "--sites is {} and {} has {} sites",
          options.sites.value_or(0), options.weights.string(), space.sites);
  require(!options.categories || space.discrete(),
          "--categories is {}, but the states of model {} are continuous",
          options.categories.value_or(0), name);
  require(!options.categories || *options.categories == space.categories,
          "--categories is {} and {} has {}", options.categories.value_or(0),
          options.weights.string(), space.categories);
  return model;
}

std::shared_ptr<EnergyModel> new_model(const std::string& name, const NewModelOptions& options,
                                       uint64_t seed) {
  const ModelEntry& entry = find_model(name);
  require(entry.trainable, "model {} cannot be trained", name);
  require(!options.continuous || name == "mlp", "model {} has no continuous states; mlp has", name);
  const int64_t sites = options.image_height * options.image_width;
  torch::manual_seed(seed);
  if (name == "rbm") return RbmModel::fresh(sites, options.hidden, options.base_mean);
  if (name == "mlp") {
    const StateKind kind = options.continuous ? StateKind::kContinuous : StateKind::kBinary;
    return std::make_shared<MlpModel>(StateSpace{kind, sites, 2});
  }
  return std::make_shared<ResNetModel>(options.image_height, options.image_width, options.channels,
                                       options.base_mean);
}

std::vector<std::string> nearest_first(const std::string& name, std::vector<std::string> known) {
  const auto distance = [&name](const std::string& other) {  // Levenshtein
    std::vector<size_t> row(other.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 1; i <= name.size(); ++i) {
      size_t diagonal = row[0]++;
      for (size_t j = 1; j <= other.size(); ++j) {
        const size_t substituted = diagonal + (name[i - 1] != other[j - 1]);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
      }
    }
    return row.back();
  };
  std::stable_sort(known.begin(), known.end(), [&](const std::string& a, const std::string& b) {
    return distance(a) < distance(b);
  });
  return known;
}

}  // namespace isinglass
