// The models by name: one line each, with the reader of its parameter file.
#include "models/registry.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "io/error.h"
#include "models/bayesnet.h"
#include "models/bernoulli.h"
#include "models/categorical.h"
#include "models/continuous_models.h"
#include "models/fhmm.h"
#include "models/ising.h"
#include "models/lattice_gaussian.h"
#include "models/logistic.h"
#include "models/mlp.h"
#include "models/parameter_file.h"
#include "models/parity.h"
#include "models/permutation.h"
#include "models/potts.h"
#include "models/quartic_mixture.h"
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
  const bool categorical = reader.rank("W") > 2 && reader.rank("b_v") > 1;
  std::vector<int64_t> shape(categorical ? 3 : 2, -1);
  const torch::Tensor w = reader.real("W", shape);
  shape.erase(shape.begin());
  for (size_t i = 0; i < shape.size(); ++i) shape[i] = w.size(static_cast<int64_t>(i) + 1);
  const torch::Tensor b_v = reader.real("b_v", shape), b_h = reader.real("b_h", {w.size(0)});
  reader.finish();
  if (categorical) check_categories(reader, "b_v", b_v);
  return std::make_shared<RbmModel>(w, b_v, b_h);
}

// A number of the file that lies strictly between two bounds.
double number_between(ParameterReader& reader, const char* key, double low, double high) {
  const double value = reader.real(key, {}).item<double>();
  require(value > low && value < high, "{}: tensor '{}' is {}; it must lie between {} and {}",
          reader.source(), key, value, low, high);
  return value;
}

ModelPointer load_fhmm(const ModelOptions& options) {
  ParameterReader reader(options.weights);
  FhmmParameters p;
  p.y = reader.real("y", {-1});
  p.w = reader.real("W", {-1, -1});
  p.b = reader.real("b", {}).item<double>();
  p.sigma = number_between(reader, "sigma", 0, std::numeric_limits<double>::infinity());
  p.p_init = number_between(reader, "p_init", 0, 1);
  p.p_stay = number_between(reader, "p_stay", 0, 1);
  reader.finish();
  check_categories(reader, "W", p.w);
  return std::make_shared<FhmmModel>(p);
}

ModelPointer load_logistic(const ModelOptions& options) {
  ParameterReader reader(options.weights);
  const torch::Tensor x = reader.real("X", {-1, -1}), y = reader.real("y", {x.size(0)});
  reader.finish();
  require(((y == 0) | (y == 1)).all().item<bool>(), "{}: tensor 'y' must hold 0 and 1 only",
          reader.source());
  return std::make_shared<LogisticModel>(x, y);
}

int64_t needed_categories(const ModelOptions& options, const char* model) {
  require(options.categories.has_value(),
          "model {} needs --categories K: its parameters do not say", model);
  return *options.categories;
}

ModelPointer load_lattice_gaussian(const ModelOptions& options) {
  const int64_t categories = needed_categories(options, "lattice-gaussian");
  ParameterReader reader(options.weights);
  const torch::Tensor mean = reader.real("mean", {-1});
  const torch::Tensor precision = reader.real("precision", {mean.size(0), mean.size(0)});
  reader.finish();
  const torch::Tensor p = precision.to(torch::kFloat64);
  const double asymmetry = p.numel() > 0 ? (p - p.t()).abs().max().item<double>() : 0;
  const torch::Tensor info = std::get<1>(torch::linalg_cholesky_ex(p));
  require(asymmetry <= 1e-6 * std::max(1.0, p.abs().max().item<double>()) && info.item<int>() == 0,
          "{}: tensor 'precision' is not symmetric positive definite", reader.source());
  return std::make_shared<LatticeGaussianModel>(0.5 * (p + p.t()), mean, categories);
}

ModelPointer load_quartic_mixture(const ModelOptions& options) {
  const int64_t categories = needed_categories(options, "quartic-mixture");
  ParameterReader reader(options.weights);
  const torch::Tensor scale = reader.real("scale", {-1});
  const int64_t sites = scale.size(0);
  const torch::Tensor centers = reader.real("centers", {-1, sites});
  const torch::Tensor rotation = reader.real("rotation", {sites, sites});
  reader.finish();
  require(centers.size(0) > 0, "{}: tensor 'centers' is empty", reader.source());
  require((scale > 0).all().item<bool>(), "{}: tensor 'scale' must be positive", reader.source());
  const torch::Tensor product = rotation.matmul(rotation.t());
  require(torch::allclose(product, torch::eye(sites), 0, 1e-4),
          "{}: tensor 'rotation' is not orthogonal", reader.source());
  return std::make_shared<QuarticMixtureModel>(centers, scale, rotation, categories);
}

ModelPointer load_bayesnet(const ModelOptions& options) {
  return read_bayesnet(options.weights);
}

// --class is one of the outputs, and needed where there are several.
void check_class(const ModelOptions& options, int64_t outputs, const std::string& file) {
  require(outputs == 1 || options.label.has_value(),
          "{} is a classifier of {} classes; --class Y names the one whose energy is meant", file,
          outputs);
  require(options.label.value_or(0) < outputs, "--class is {}, and {} has {} outputs",
          options.label.value_or(0), file, outputs);
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
  const int64_t outputs = reader.peek("6.weight", {-1, MlpModel::kWidth}).size(0);
  check_class(options, outputs, reader.source());
  const auto model = std::make_shared<MlpModel>(StateSpace{kind, inputs / per_site, categories},
                                                outputs, options.label.value_or(0));
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
        {"rbm", "-b_v.v - sum_h softplus(b_h + W_h.v)",
         "W [H,D], b_v [D], b_h [H]; categorical: W [H,D,K], b_v [D,K]", "binary, categorical",
         true, true, load_rbm},
        {"fhmm", "-log p(x) - log p(y given x) of a factorial hidden Markov model",
         "y [L], W [M,n], b [], sigma [], p_init [], p_stay []", "binary, categorical", true, false,
         load_fhmm},
        {"logistic", "sum_m softplus((1 - 2y_m) X_m.x)", "X [M,D], y [M]", "binary", true, false,
         load_logistic},
        {"lattice-gaussian", "(x - b).P (x - b)/2", "precision [D,D], mean [D]; and --categories K",
         "ordered", true, false, load_lattice_gaussian},
        {"quartic-mixture",
         "-log sum_c exp(-sum_d (u_d + 1)(u_d^2 + 1/2)(u_d - 2)), u = R((x - b_c)/s)",
         "centers [C,D], scale [D], rotation [D,D]; and --categories K", "ordered", true, false,
         load_quartic_mixture},
        {"bayesnet", "-log prod_i p(x_i given its parents)", "a network in .uai format",
         "binary, categorical", false, false, load_bayesnet},
        {"parity", "u (sum_i x_i mod 2)", "u []; and --sites D", "binary", false, false,
         load_parity},
        {"permutation", "sum_i w_{i,rho(i)}", "w [p,p]", "permutation", false, false,
         load_permutation},
        {"mlp", "-net(x), three layers of 256; of a classifier -net(x)[y], --class y",
         "{0,2,4,6}.{weight,bias}", "binary, categorical (--categories), continuous", true, true,
         load_mlp},
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
  require(!entry.weights || !options.weights.empty(), "model {} needs --weights FILE with {}", name,
          entry.parameters);
  require(!options.label || name == "mlp" || name == "script",
          "--class is given, but {} is no classifier", name);
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
    return std::make_shared<MlpModel>(StateSpace{kind, sites, 2}, options.classes);
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
