// Implements the .uai reader, which checks everything that it reads, and the energy as a sum of
// table look-ups.
#include "models/density/bayesnet.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <sstream>

#include "io/error.h"
#include "io/files.h"
#include "models/registry.h"

namespace isinglass {
namespace {

constexpr double kLeastProbability = 1e-30;
constexpr int64_t kMostEntries = 1 << 24;  // of all tables together
constexpr int64_t kMostValues = 256;

// Reads the words of a .uai file one by one.
class UaiReader {
 public:
  explicit UaiReader(const std::filesystem::path& file)
      : source_(file.string()), in_(read_file(file)) {}

  const std::string& source() const { return source_; }

  std::string word(const std::string& what) {
    std::string text;
    require(static_cast<bool>(in_ >> text), "{}: the file ends before {}", source_, what);
    return text;
  }
  int64_t whole(const std::string& what, int64_t least, int64_t most) {
    const auto value = number<int64_t>(what);
    require(value >= least && value <= most, "{}: {} is {}; {} to {} are allowed", source_, what,
            value, least, most);
    return value;
  }
  double probability(const std::string& what) {
    const auto value = number<double>(what);
    require(value >= 0 && value <= 1, "{}: {} is {}; a probability from 0 to 1 is needed", source_,
            what, value);
    return value;
  }
  void finish() {
    std::string more;
    require(!(in_ >> more), "{}: '{}' follows the last table", source_, more);
  }

 private:
  template <class T>
  T number(const std::string& what) {
    const std::string text = word(what);
    T value{};
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    require(error == std::errc() && rest == end, "{}: {} is '{}', which is not a number", source_,
            what, text);
    return value;
  }

  std::string source_;
  std::istringstream in_;
};

int64_t read_values(UaiReader& in, int64_t variables) {
  const int64_t values = in.whole("a number of values", 2, kMostValues);
  for (int64_t i = 1; i < variables; ++i) {
    const int64_t other = in.whole("a number of values", 2, kMostValues);
    require(other == values,
            "{}: variable {} has {} values, but variable 0 has {}; all variables must have the "
            "same number",
            in.source(), i, other, values);
  }
  return values;
}

torch::Tensor read_scope(UaiReader& in, int64_t variables, int64_t factor) {
  const int64_t size = in.whole("a factor's number of variables", 1, variables);
  std::set<int64_t> distinct;
  std::vector<int64_t> scope;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t variable = in.whole("a factor's variable", 0, variables - 1);
    require(distinct.insert(variable).second, "{}: factor {} names variable {} twice", in.source(),
            factor, variable);
    scope.push_back(variable);
  }
  return torch::tensor(scope, torch::kInt64);
}

// Throws Error if a variable is its own ancestor, since a product of conditionals is then no
// distribution. Removes variables without remaining parents until none is left or a cycle remains.
void check_acyclic(const UaiReader& in, const std::vector<BayesNetFactor>& factors) {
  const auto count =
      static_cast<int64_t>(factors.size());  // the number of variables, too: each is the child once
  std::vector<int64_t> waits(count);         // number of parents not yet removed
  std::vector<std::vector<int64_t>> parents(count), children(count);
  for (const BayesNetFactor& factor : factors) {
    const auto* variable = factor.variables.data_ptr<int64_t>();
    const int64_t child = variable[factor.variables.size(0) - 1];
    parents[child].assign(variable, variable + factor.variables.size(0) - 1);
    waits[child] = std::ssize(parents[child]);
    for (const int64_t parent : parents[child]) children[parent].push_back(child);
  }
  std::vector<int64_t> taken;
  for (int64_t i = 0; i < count; ++i) {
    if (waits[i] == 0) taken.push_back(i);
  }
  for (size_t n = 0; n < taken.size(); ++n) {
    for (const int64_t child : children[taken[n]]) {
      if (--waits[child] == 0) taken.push_back(child);
    }
  }
  if (std::ssize(taken) == count) return;
  const auto is_left = [&](int64_t variable) { return waits[variable] > 0; };
  int64_t on_cycle = 0;
  while (!is_left(on_cycle)) ++on_cycle;
  for (int64_t n = 0; n < count; ++n) {  // walks from a descendant of a cycle back to the cycle
    on_cycle = *std::find_if(parents[on_cycle].begin(), parents[on_cycle].end(), is_left);
  }
  fail("{}: the network has a cycle through variable {}; no variable may be its own ancestor",
       in.source(), on_cycle);
}

// Reads the table of a factor and checks that its rows, one for each combination of parent values,
// sum to 1.
torch::Tensor read_table(UaiReader& in, int64_t scope, int64_t values, int64_t factor) {
  const double entries = std::pow(static_cast<double>(values), static_cast<double>(scope));
  require(entries <= kMostEntries, "{}: factor {} has {:.0f} entries; at most {} are allowed",
          in.source(), factor, entries, kMostEntries);
  const auto size = static_cast<int64_t>(entries);
  const std::string what = fmt::format("the table size of factor {}", factor);
  require(in.whole(what, 1, kMostEntries) == size, "{}: {} is not {}", in.source(), what, size);
  torch::Tensor table = torch::empty({size}, torch::kFloat64);
  for (int64_t i = 0; i < size; ++i) {
    table.data_ptr<double>()[i] = in.probability(fmt::format("an entry of factor {}", factor));
  }
  constexpr double kRounding = 1e-3;  // files give few digits
  const torch::Tensor off = (table.view({-1, values}).sum(1) - 1).abs();
  require(off.max().item<double>() <= kRounding, "{}: a row of factor {} does not sum to 1",
          in.source(), factor);
  return table;
}

}  // namespace

BayesNetModel::BayesNetModel(int64_t variables, int64_t values,
                             const std::vector<BayesNetFactor>& factors)
    : variables_(variables), values_(values) {
  const int64_t count = static_cast<int64_t>(factors.size());
  torch::Tensor stride = torch::zeros({variables, count}, torch::kFloat64);
  std::vector<torch::Tensor> costs;
  std::vector<int64_t> offset;
  int64_t first = 0;
  for (int64_t f = 0; f < count; ++f) {
    const BayesNetFactor& factor = factors[f];
    double step = 1;
    for (int64_t i = factor.variables.size(0) - 1; i >= 0;
         --i, step *= static_cast<double>(values)) {
      stride[factor.variables[i].item<int64_t>()][f] = step;
    }
    costs.push_back(-factor.table.clamp_min(kLeastProbability).log());
    offset.push_back(first);
    first += factor.table.size(0);
  }
  cost_ = register_buffer("cost", torch::cat(costs));
  offset_ = register_buffer("offset", torch::tensor(offset, torch::kFloat64));
  stride_ = register_buffer("stride", stride);
  const int64_t most = (stride > 0).sum(1).max().item<int64_t>();
  const auto [own_stride, own_factor] = stride.topk(most, 1);
  own_factor_ = register_buffer("own_factor", own_factor);
  own_stride_ = register_buffer("own_stride", own_stride.to(torch::kInt64));
}

// Returns the index into cost_ of each factor's value, int64 [B, F].
torch::Tensor BayesNetModel::entries(const torch::Tensor& x) const {
  return (x.to(torch::kFloat64).matmul(stride_) + offset_).to(torch::kInt64);
}

torch::Tensor BayesNetModel::costs(const torch::Tensor& entries) const {
  return cost_.index_select(0, entries.flatten()).view(entries.sizes());
}

torch::Tensor BayesNetModel::energy(const torch::Tensor& x) {
  return costs(entries(x)).sum(1);
}

void BayesNetModel::evaluate_differences(const torch::Tensor& x, Evaluation& out) {
  const torch::Tensor all = entries(x), value = x.to(torch::kInt64);
  store(out.energy, costs(all).sum(1));
  const torch::Tensor own =
      all.index_select(1, own_factor_.flatten()).view({-1, variables_, own_factor_.size(1)});
  const torch::Tensor here = costs(own);
  const auto to = [&](const torch::Tensor& k) {  // U(x) − U(x with x_i ← k_i) for all sites i
    return (here - costs(own + (k - value).unsqueeze(2) * own_stride_)).sum(2).to(torch::kFloat32);
  };
  if (values_ == 2) return store(out.differences, to(1 - value));
  std::vector<torch::Tensor> columns;
  for (int64_t k = 0; k < values_; ++k) columns.push_back(to(torch::full_like(value, k)));
  store(out.differences, torch::stack(columns, 2));
}

void BayesNetModel::conditional_differences(const torch::Tensor& x, const torch::Tensor& site,
                                            torch::Tensor& out) {
  const torch::Tensor own = entries(x).gather(1, own_factor_.index_select(0, site));
  const torch::Tensor stride = own_stride_.index_select(0, site);
  const torch::Tensor value = x.to(torch::kInt64).gather(1, site.unsqueeze(1));
  const torch::Tensor here = costs(own);
  std::vector<torch::Tensor> columns;
  for (int64_t k = 0; k < values_; ++k) {
    columns.push_back((costs(own + (k - value) * stride) - here).sum(1));
  }
  store(out, torch::stack(columns, 1));
}

std::shared_ptr<BayesNetModel> read_bayesnet(const std::filesystem::path& file) {
  UaiReader in(file);
  const std::string kind = in.word("its first word");
  require(kind == "BAYES",
          "{}: the file begins with '{}', but a network in .uai format begins with BAYES",
          in.source(), kind);
  const int64_t variables = in.whole("the number of variables", 1, 1 << 16);
  const int64_t values = read_values(in, variables);
  const int64_t count = in.whole("the number of factors", variables, variables);
  std::vector<BayesNetFactor> factors;
  std::set<int64_t> children;
  for (int64_t f = 0; f < count; ++f) {
    factors.push_back({read_scope(in, variables, f), {}});
    children.insert(factors.back().variables[-1].item<int64_t>());
  }
  require(static_cast<int64_t>(children.size()) == variables,
          "{}: {} variables are not the child of any factor", in.source(),
          variables - static_cast<int64_t>(children.size()));
  check_acyclic(in, factors);
  int64_t entries = 0;
  for (int64_t f = 0; f < count; ++f) {
    factors[f].table = read_table(in, factors[f].variables.size(0), values, f);
    entries += factors[f].table.size(0);
    require(entries <= kMostEntries, "{}: the tables of the file have more than {} entries",
            in.source(), kMostEntries);
  }
  in.finish();
  int64_t zeros = 0;
  for (const BayesNetFactor& factor : factors) zeros += (factor.table == 0).sum().item<int64_t>();
  if (zeros > 0) {
    TORCH_WARN(in.source(), ": ", zeros, " probabilities are 0 and count as ", kLeastProbability,
               ": single-site moves may not connect the states; use block-gibbs or --rungs");
  }
  return std::make_shared<BayesNetModel>(variables, values, factors);
}

namespace {

std::shared_ptr<EnergyModel> load_bayesnet(const ModelOptions& options) {
  return read_bayesnet(options.weights);
}

}  // namespace

std::vector<ModelEntry> bayesnet_models() {
  return {{"bayesnet", "-log prod_i p(x_i given its parents)", "a network in .uai format",
           "binary, categorical", false, load_bayesnet}};
}

}  // namespace isinglass
