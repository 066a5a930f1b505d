// Implements the standard instances with discrete states and the parsing of instance names.
// Sections "§B" refer to Sun et al. 2023, "Any-scale balanced samplers".
#include "models/instances/instances.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "io/error.h"
#include "models/density/bayesnet.h"
#include "models/density/fhmm.h"
#include "models/density/lattice_gaussian.h"
#include "models/density/logistic.h"
#include "models/density/parity.h"
#include "models/density/permutation.h"
#include "models/density/quartic_mixture.h"
#include "models/instances/entry.h"
#include "models/lattice/bernoulli.h"
#include "models/lattice/categorical.h"
#include "models/lattice/edge_set.h"
#include "models/lattice/ising.h"
#include "models/lattice/potts.h"
#include "models/near_name.h"
#include "models/registry.h"

namespace isinglass {
namespace {

using ModelPointer = std::shared_ptr<EnergyModel>;

torch::Tensor lattice_edges(int64_t side, bool periodic) {
  return edges_of(periodic ? EdgeSet::kTorus : EdgeSet::kGrid, side, side);
}

torch::Tensor equal_couplings(const torch::Tensor& edges, double coupling) {
  return torch::full({edges.size(0)}, coupling, torch::kFloat64);
}

// Each returns how many numbers of 8 bytes exist at once while the instance is made. A site of a
// lattice has two edges, which are copied as they are put together, and a field.
double numbers_of_lattice(const Numbers& n) {
  return 20 * n["side"] * n["side"];
}
double numbers_of_potts(const Numbers& n) {
  return numbers_of_lattice(n) + 4 * n["side"] * n["side"] * n["categories"];
}
double numbers_of_categorical(const Numbers& n) {
  return 4 * n["sites"] * n["categories"];
}
double numbers_of_matrix(const Numbers& n) {
  return 4 * n["sites"] * n["sites"];
}

// Returns +1 in the inner square of half the side, and −1 around it: float64 [side²].
torch::Tensor inner_square(int64_t side) {
  torch::Tensor sign = torch::full({side, side}, -1.0, torch::kFloat64);
  const int64_t first = side / 4, last = side - side / 4;
  sign.slice(0, first, last).slice(1, first, last).fill_(1);
  return sign.flatten();
}

ModelPointer make_bernoulli(const Numbers& n) {
  return std::make_shared<BernoulliModel>(n["sigma"] * n.normal({n.whole("sites")}));
}

ModelPointer make_categorical(const Numbers& n) {
  return std::make_shared<CategoricalModel>(n["sigma"] *
                                            n.normal({n.whole("sites"), n.whole("categories")}));
}

ModelPointer make_parity(const Numbers& n) {
  return std::make_shared<ParityModel>(torch::tensor(n["u"], torch::kFloat64), n.whole("sites"));
}

ModelPointer make_permutation(const Numbers& n) {
  const int64_t sites = n.whole("sites");
  return std::make_shared<PermutationModel>(n["sigma"] * n.normal({sites, sites}));
}

// Makes an Ising model with fields ±mu + Unif(−width, width), where + holds in the inner square
// (Zanella 2020).
ModelPointer make_ising_field(const Numbers& n) {
  const int64_t side = n.whole("side");
  const torch::Tensor edges = lattice_edges(side, false);
  const torch::Tensor noise = n["width"] * (2 * n.uniform({side * side}) - 1);
  return std::make_shared<IsingModel>(edges, equal_couplings(edges, n["coupling"]),
                                      n["mu"] * inner_square(side) + noise);
}

ModelPointer make_ising_grid(const Numbers& n) {
  const int64_t side = n.whole("side");
  const torch::Tensor edges = lattice_edges(side, n["periodic"] != 0);
  return std::make_shared<IsingModel>(edges, equal_couplings(edges, n["coupling"]),
                                      torch::zeros({side * side}, torch::kFloat64));
}

// Makes an Ising model on a scale-free graph (Barabási & Albert 1999): every new node is connected
// to `attached` different nodes, drawn in proportion to their degrees.
ModelPointer make_ising_scale_free(const Numbers& n) {
  const int64_t nodes = n.whole("nodes"), attached = n.whole("attached");
  require(attached < nodes,
          "instance ising-scale-free: attached is {}, but it must be below nodes, which is {}",
          attached, nodes);
  std::vector<int64_t> pairs, ends, targets(attached);
  for (int64_t i = 0; i < attached; ++i) targets[i] = i;
  const PhiloxStream draws = n.draws(0);
  uint32_t position = 0;
  for (int64_t node = attached; node < nodes; ++node) {
    for (const int64_t target : targets) {
      pairs.insert(pairs.end(), {target, node});
      ends.insert(ends.end(), {target, node});
    }
    targets.clear();
    while (static_cast<int64_t>(targets.size()) < attached) {
      const uint32_t drawn =
          draws.below(static_cast<uint32_t>(ends.size()), Purpose::kInstance, position++);
      if (std::find(targets.begin(), targets.end(), ends[drawn]) == targets.end()) {
        targets.push_back(ends[drawn]);
      }
    }
  }
  const torch::Tensor edges = torch::tensor(pairs, torch::kInt64).view({-1, 2});
  return std::make_shared<IsingModel>(edges, equal_couplings(edges, n["coupling"]),
                                      torch::zeros({nodes}, torch::kFloat64));
}

// Makes the posterior of a true image x (+1 in the inner square) given noisy observations
// y ~ N(mu·x, sigma²): an Ising model with fields y·mu/sigma² on a periodic lattice (Sansone 2022).
ModelPointer make_ising_posterior(const Numbers& n) {
  const int64_t side = n.whole("side");
  const torch::Tensor edges = lattice_edges(side, true);
  const torch::Tensor y = n["mu"] * inner_square(side) + n["sigma"] * n.normal({side * side});
  return std::make_shared<IsingModel>(edges, equal_couplings(edges, n["coupling"]),
                                      y * n["mu"] / (n["sigma"] * n["sigma"]));
}

// Makes a Potts model with fields Unif(−width, width) ± tilt·k/K for the values k = 1 … K, where +
// holds in the inner square.
ModelPointer make_potts_field(const Numbers& n) {
  const int64_t side = n.whole("side"), categories = n.whole("categories");
  const torch::Tensor edges = lattice_edges(side, false);
  const torch::Tensor slope =
      torch::arange(1, categories + 1, torch::kFloat64) * (n["tilt"] / n["categories"]);
  const torch::Tensor noise = n["width"] * (2 * n.uniform({side * side, categories}) - 1);
  return std::make_shared<PottsModel>(edges, equal_couplings(edges, n["coupling"]),
                                      noise + inner_square(side).unsqueeze(1) * slope);
}

// Returns a value of a hidden chain from a uniform number u: `kept` with probability p, otherwise
// one of the other values with equal probabilities.
int64_t drawn_value(double u, double p, int64_t kept, int64_t values) {
  if (u < p) return kept;
  const auto other = static_cast<int64_t>((u - p) / (1 - p) * static_cast<double>(values - 1));
  const int64_t value = std::min(other, values - 2);
  return value + (value >= kept ? 1 : 0);
}

// Makes the posterior of a factorial hidden Markov model, given observations of a hidden path that
// is drawn from the model. W ~ N(0, 1), except that binary chains have W = 0 for the value 0;
// b ~ N(0, 1).
ModelPointer make_fhmm(const Numbers& n) {
  const int64_t steps = n.whole("steps"), chains = n.whole("chains"), values = n.whole("values");
  torch::Tensor w = n.normal({chains, values}, 0);
  if (values == 2) w.select(1, 0).zero_();
  const double b = n.normal({1}, 1).item<double>();
  torch::Tensor y = b + n["sigma"] * n.normal({steps}, 2);
  const torch::Tensor u = n.uniform({steps, chains}, 3);
  std::vector<int64_t> x(static_cast<size_t>(chains), 0);
  for (int64_t l = 0; l < steps; ++l) {
    for (int64_t m = 0; m < chains; ++m) {
      const double stay = l == 0 ? n["init"] : n["stay"];
      x[m] = drawn_value(u[l][m].item<double>(), stay, x[m], values);
      y[l] += w[m][x[m]];
    }
  }
  return std::make_shared<FhmmModel>(FhmmParameters{
      .y = y, .w = w, .b = b, .sigma = n["sigma"], .p_init = n["init"], .p_stay = n["stay"]});
}

// Makes a lattice Gaussian (§B.3) with P = R Λ Rᵀ, where R is a random rotation and
//   Λ_i = √l / (1 + (l − 1) i/(D − 1)), i = 0 … D − 1.
// `mean` is the mean of every site, by default the middle of the values.
ModelPointer make_gaussian_rotated(const Numbers& n) {
  const int64_t sites = n.whole("sites");
  const torch::Tensor rotation = std::get<0>(torch::linalg_qr(n.normal({sites, sites})));
  const torch::Tensor lambda =
      std::sqrt(n["l"]) / (1 + (n["l"] - 1) * torch::linspace(0, 1, sites, torch::kFloat64));
  const torch::Tensor precision = (rotation * lambda).matmul(rotation.t());
  return std::make_shared<LatticeGaussianModel>(
      precision, torch::full({sites}, n["mean"], torch::kFloat64), n.whole("categories"));
}

// Makes a lattice Gaussian with P = Λ M Λ on a cycle, where M_ii = 1, M_{i,i+1} ~ N(0, 0.04) and
// Λ_i = √((D − 1)/(1 + i(l − 1))), i = 1 … D (§B.3).
ModelPointer make_gaussian_cycle(const Numbers& n) {
  const int64_t sites = n.whole("sites");
  // The matrix holds the entries (i, i + 1) of M, with cyclic indices.
  const torch::Tensor link = (0.2 * n.normal({sites})).diag().roll(1, 1);
  const torch::Tensor index = torch::arange(1, sites + 1, torch::kFloat64);
  const torch::Tensor lambda = (static_cast<double>(sites - 1) / (1 + index * (n["l"] - 1))).sqrt();
  const torch::Tensor m = torch::eye(sites, torch::kFloat64) + link + link.t();
  require(std::get<1>(torch::linalg_cholesky_ex(m)).item<int>() == 0,
          "instance lattice-gaussian-cycle: the given numbers do not make the precision positive "
          "definite");
  return std::make_shared<LatticeGaussianModel>(lambda.unsqueeze(1) * m * lambda,
                                                torch::full({sites}, n["mean"], torch::kFloat64),
                                                n.whole("categories"));
}

// Makes a logistic regression (§B.4) with rows
//   X_m ~ N(0, ¼ ΛΣΛ), Σ = I + ¼ 11ᵀ, Λ_i = exp(−¼ + i/(D − 1)), i = 0 … D − 1.
// The labels are drawn with β = (1, …, 1, 0, …, 0), which has seven ones.
ModelPointer make_logistic(const Numbers& n) {
  const int64_t sites = n.whole("sites"), rows = n.whole("rows");
  const torch::Tensor shared = 0.5 * n.normal({rows, 1}, 1);  // adds covariance ¼ between sites
  const torch::Tensor lambda = (torch::linspace(0, 1, sites, torch::kFloat64) - 0.25).exp();
  const torch::Tensor x = 0.5 * lambda * (n.normal({rows, sites}, 0) + shared);
  const torch::Tensor one = torch::sigmoid(x.slice(1, 0, 7).sum(1));
  return std::make_shared<LogisticModel>(x, n.uniform({rows}, 2) < one);
}

// Makes a quartic mixture with centres c/(C − 1) in all sites, scales 20 exp(−½ + i/(D − 1)) and a
// random rotation (§B.5).
ModelPointer make_quartic_mixture(const Numbers& n) {
  const int64_t sites = n.whole("sites"), components = n.whole("components");
  const torch::Tensor centers = torch::linspace(0, 1, components, torch::kFloat64);
  const torch::Tensor scale = 20 * (torch::linspace(0, 1, sites, torch::kFloat64) - 0.5).exp();
  return std::make_shared<QuarticMixtureModel>(
      centers.unsqueeze(1).expand({components, sites}), scale,
      std::get<0>(torch::linalg_qr(n.normal({sites, sites}))), n.whole("categories"));
}

// Makes a random Bayesian network. Each variable has different parents drawn from the preceding
// ones (all of them while there are too few), and the rows of its table are softmax(sigma·N(0, 1)),
// which is nearly deterministic for a large sigma.
ModelPointer make_bayesnet(const Numbers& n) {
  const int64_t variables = n.whole("variables"), values = n.whole("values");
  std::vector<BayesNetFactor> factors;
  for (int64_t i = 0; i < variables; ++i) {
    const int64_t parents = std::min(i, n.whole("parents"));
    const torch::Tensor order = n.uniform({i}, static_cast<uint32_t>(2 * i)).argsort();
    const auto rows = static_cast<int64_t>(std::pow(values, parents));
    const torch::Tensor logits =
        n["sigma"] * n.normal({rows, values}, static_cast<uint32_t>(2 * i + 1));
    factors.push_back({torch::cat({order.slice(0, 0, parents), torch::tensor({i}, torch::kInt64)}),
                       logits.softmax(1).flatten()});
  }
  return std::make_shared<BayesNetModel>(std::vector<int64_t>(variables, values), factors);
}

const std::vector<Instance>& instances() {
  static const std::vector<Instance> all = [] {
    std::vector<Instance> list = {
        {"bernoulli", {count("sites", 100), {"sigma", 1, 0}}, make_bernoulli},
        {"categorical",
         {count("sites", 2000), count("categories", 4, 2), {"sigma", std::sqrt(1.125), 0}},
         make_categorical,
         /*images=*/false,
         numbers_of_categorical},
        {"parity", {count("sites", 100), {"u", 1}}, make_parity},
        {"permutation",
         {count("sites", 100, 2), {"sigma", 3, 0}},
         make_permutation,
         /*images=*/false,
         numbers_of_matrix},
        {"ising-field",
         {count("side", 50, 2), {"coupling", 1}, {"mu", 2}, {"width", 3, 0}},
         make_ising_field,
         /*images=*/false,
         numbers_of_lattice},
        {"ising-grid",
         {count("side", 20, 2), {"coupling", 0.4407}, {"periodic", 0, 0, true, 1}},
         make_ising_grid,
         /*images=*/false,
         numbers_of_lattice},
        {"ising-scale-free",
         {count("nodes", 400, 2), count("attached", 4), {"coupling", 0.4407}},
         make_ising_scale_free},
        {"ising-posterior",
         {count("side", 30, 3), {"coupling", 1}, {"mu", 1}, {"sigma", 3, 1e-6}},
         make_ising_posterior,
         /*images=*/false,
         numbers_of_lattice},
        {"potts-field",
         {count("side", 30, 2),
          count("categories", 4, 2),
          {"coupling", 1},
          {"width", 1.5, 0},
          {"tilt", 0.5}},
         make_potts_field,
         /*images=*/false,
         numbers_of_potts},
        {"fhmm",
         {count("steps", 1000, 2),
          count("chains", 10),
          count("values", 2, 2),
          probability("init", 0.95),
          probability("stay", 0.85),
          {"sigma", 0.5, 1e-6}},
         make_fhmm},
        {"lattice-gaussian-rotated",
         {count("sites", 100, 2), count("categories", 21, 2), {"l", 2, 1}, {"mean", 10}},
         make_gaussian_rotated,
         /*images=*/false,
         numbers_of_matrix},
        {"lattice-gaussian-cycle",
         {count("sites", 100, 3), count("categories", 21, 2), {"l", 2, 1}, {"mean", 10}},
         make_gaussian_cycle,
         /*images=*/false,
         numbers_of_matrix},
        {"logistic", {count("sites", 100, 8), count("rows", 50)}, make_logistic},
        {"bayesnet",
         {count("variables", 100),
          {"parents", 3, 0, true, 8},
          {"values", 2, 2, true, 8},
          {"sigma", 1, 0}},
         make_bayesnet},
        {"quartic-mixture",
         {count("sites", 50, 2), count("components", 50), count("categories", 21, 2)},
         make_quartic_mixture},
    };
    for (auto* more : {&optimisation_instances, &continuous_instances}) {
      for (Instance& instance : more()) list.push_back(std::move(instance));
    }
    return list;
  }();
  return all;
}

const Instance& find_instance(const std::string& name) {
  std::vector<std::string> names;
  for (const Instance& instance : instances()) {
    if (instance.name == name) return instance;
    names.push_back(instance.name);
  }
  fail("unknown instance '{}'; known: {}", name, fmt::join(nearest_first(name, names), ", "));
}

std::string range_of(const Parameter& parameter, double least) {
  if (parameter.whole && least == 0 && parameter.most == 1) return "0 or 1";
  return fmt::format("a {}number from {} to {}", parameter.whole ? "whole " : "", least,
                     parameter.most);
}

double parsed(const Parameter& parameter, const std::string& text, const std::string& where) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  const double least = std::max(parameter.least, -parameter.most);
  require(error == std::errc() && rest == end && value >= least && value <= parameter.most &&
              (!parameter.whole || value == std::floor(value)),
          "instance {}: {} is '{}'; {} is needed", where, parameter.key, text,
          range_of(parameter, least));
  return value;
}

// Returns KEY=5 for the short form PREFIX5 of a parameter, and other texts as they are.
std::string written_out(const std::string& text, const std::vector<Parameter>& parameters) {
  for (const Parameter& parameter : parameters) {
    const std::string& prefix = parameter.prefix;
    if (!prefix.empty() && text.starts_with(prefix) && text.find('=') == std::string::npos) {
      return parameter.key + "=" + text.substr(prefix.size());
    }
  }
  return text;
}

Numbers numbers_of(const Instance& instance, const std::string& list, const ImageSource& images) {
  std::vector<Parameter> parameters = instance.parameters;
  parameters.push_back(count("seed", 0, 0));
  std::map<std::string, double> values;
  std::vector<std::string> known;
  for (const Parameter& parameter : parameters) {
    values[parameter.key] = parameter.initial;
    known.push_back(parameter.key);
  }
  for (size_t first = 0; first < list.size();) {
    const size_t comma = std::min(list.find(',', first), list.size());
    const std::string pair = written_out(list.substr(first, comma - first), parameters);
    const std::string key = pair.substr(0, pair.find('='));
    const auto parameter = std::find(known.begin(), known.end(), key) - known.begin();
    require(key.size() < pair.size(), "instance {}: '{}' does not have the form KEY=X; keys: {}",
            instance.name, pair, fmt::join(nearest_first(key, known), ", "));
    if (parameter == static_cast<int64_t>(known.size())) {
      const std::string near = near_name(key, known);
      fail("instance {}: unknown key '{}'{}; keys: {}", instance.name, key,
           near.empty() ? "" : fmt::format("; did you mean {}?", near),
           fmt::join(nearest_first(key, known), ", "));
    }
    values[key] = parsed(parameters[parameter], pair.substr(key.size() + 1), instance.name);
    first = comma + 1;
  }
  return {values, images};
}

}  // namespace

std::string instance_names() {
  std::vector<std::string> names;
  for (const Instance& instance : instances()) names.push_back(instance.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

namespace {

struct Named {
  const Instance& instance;
  Numbers numbers;
};

Named named(const std::string& text, const ImageSource& images) {
  const size_t colon = text.find(':');
  const Instance& instance = find_instance(text.substr(0, colon));
  return {instance,
          numbers_of(instance, colon == std::string::npos ? "" : text.substr(colon + 1), images)};
}

}  // namespace

ModelPointer make_instance(const std::string& text, const ImageSource& images) {
  const auto [instance, numbers] = named(text, images);
  require_options(!instance.images || images.pixels,
                  "instance {} is made of images: `dataset` NAME is needed", instance.name);
  const ModelPointer model = instance.make(numbers);
  const StateSpace space = model->space();
  require(space.categories <= 256, "instance {} has {} categories; at most 256 are allowed", text,
          space.categories);
  return model;
}

double instance_bytes(const std::string& text) {
  const auto [instance, numbers] = named(text, {});
  return instance.numbers ? 8 * instance.numbers(numbers) : 0;
}

bool names_instance(const std::string& text) {
  const std::string name = text.substr(0, text.find(':'));
  return std::any_of(instances().begin(), instances().end(),
                     [&](const Instance& instance) { return instance.name == name; });
}

void check_instance(const std::string& text) {
  if (!named(text, {}).instance.images) make_instance(text);
}

}  // namespace isinglass
