// Implements the .uai reader, which checks everything that it reads, the checks of networks in
// either format, and the energy as a sum of table look-ups.
#include "models/density/bayesnet.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "io/error.h"
#include "io/files.h"
#include "models/density/bif_file.h"
#include "models/registry.h"

namespace isinglass {
namespace {

// Energy of a value that a variable does not have, or that contradicts the evidence: −log 1e-60.
constexpr double kForbidden = 138.15510557964274;

// Reads the words of a .uai file one by one, and names their lines in errors.
class UaiReader {
 public:
  explicit UaiReader(const std::filesystem::path& file) : source_(file.string()) {
    text_ = read_file(file);
    if (text_.starts_with("\xef\xbb\xbf")) text_.erase(0, 3);  // a byte-order mark
  }

  const std::string& source() const { return source_; }
  int64_t line() const { return line_; }  // of the latest word, counted from 1

  // Returns true if no word is left.
  bool done() {
    skip_space();
    return at_ == text_.size();
  }
  std::string word(const std::string& what) {
    require(!done(), "{}: the file ends before {}", source_, what);
    const size_t end = std::min(text_.find_first_of(" \t\r\n", at_), text_.size());
    return text_.substr(std::exchange(at_, end), end - at_);
  }
  int64_t whole(const std::string& what, int64_t least, int64_t most) {
    const auto value = number<int64_t>(what);
    require(value >= least && value <= most, "{}: line {}: {} is {}; {} to {} are allowed", source_,
            line_, what, value, least, most);
    return value;
  }
  // Reads a table's entry: a probability, or any number ≥ 0 of a Markov network.
  double entry(const std::string& what, bool probability) {
    const auto value = number<double>(what);
    require(value >= 0 && std::isfinite(value) && (!probability || value <= 1),
            "{}: line {}: {} is {}; {} is needed", source_, line_, what, value,
            probability ? "a probability from 0 to 1" : "a finite number from 0");
    return value;
  }

 private:
  void skip_space() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '#')
        at_ = std::min(text_.find('\n', at_), text_.size()) - 1;  // a comment
      else if (c == '\n')
        ++line_;
      else if (c != ' ' && c != '\t' && c != '\r')
        return;
    }
  }

  template <class T>
  T number(const std::string& what) {
    const std::string text = word(what);
    T value{};
    const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(begin, end, value);
    if constexpr (std::is_floating_point_v<T>) {  // too small for a double, such as 1e-400
      if (error == std::errc::result_out_of_range && rest == end &&
          text.find_first_of("eE") != text.npos && text.find('-') != text.npos) {
        return 0;
      }
    }
    require(error == std::errc() && rest == end, "{}: line {}: {} is '{}', which is not a number",
            source_, line_, what, text);
    return value;
  }

  std::string source_, text_;
  size_t at_ = 0;
  int64_t line_ = 1;
};

std::vector<int64_t> read_values(UaiReader& in, int64_t variables) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < variables; ++i) {
    values.push_back(in.whole("a number of values", 1, kMostNetworkValues));
  }
  return values;
}

torch::Tensor read_scope(UaiReader& in, int64_t variables, int64_t factor, int64_t least) {
  const int64_t size = in.whole("a factor's number of variables", least, variables);
  std::set<int64_t> distinct;
  std::vector<int64_t> scope;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t variable = in.whole("a factor's variable", 0, variables - 1);
    require(distinct.insert(variable).second, "{}: line {}: factor {} names variable {} twice",
            in.source(), in.line(), factor, variable);
    scope.push_back(variable);
  }
  return torch::tensor(scope, torch::kInt64);
}

// Reads "n variable value …", the observed values. Some files begin with the number of samples,
// which must then be 1.
std::vector<std::pair<int64_t, int64_t>> read_evidence(UaiReader& in,
                                                       const std::vector<int64_t>& values) {
  std::vector<int64_t> words;
  std::vector<int64_t> lines;
  while (!in.done()) {
    words.push_back(in.whole("a number of the evidence", 0, int64_t{1} << 30));
    lines.push_back(in.line());
  }
  const auto size = std::ssize(words);
  size_t at = 0;
  const bool samples = size % 2 == 0 && size >= 2 && words[0] == 1 && 2 + 2 * words[1] == size;
  if (samples) at = 1;
  require(size > 0 && 2 * words[at] + 1 + static_cast<int64_t>(at) == size,
          "{}: the evidence must be a number of observed variables, followed by each variable and "
          "its value",
          in.source());
  std::vector<std::pair<int64_t, int64_t>> evidence;
  std::set<int64_t> distinct;
  for (++at; at + 1 < words.size(); at += 2) {
    const int64_t variable = words[at], value = words[at + 1];
    require(variable < std::ssize(values),
            "{}: line {}: the evidence names variable {}; 0 to {} are allowed", in.source(),
            lines[at], variable, values.size() - 1);
    require(value < values[variable],
            "{}: line {}: the evidence gives variable {} the value {}; 0 to {} are allowed",
            in.source(), lines[at + 1], variable, value, values[variable] - 1);
    require(distinct.insert(variable).second, "{}: line {}: the evidence names variable {} twice",
            in.source(), lines[at], variable);
    evidence.emplace_back(variable, value);
  }
  return evidence;
}

// Throws Error if a variable is its own ancestor, since a product of conditionals is then no
// distribution. Removes variables without remaining parents until none is left or a cycle remains.
void check_acyclic(const std::string& source, const NetworkText& network) {
  const std::vector<BayesNetFactor>& factors = network.factors;
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
  const std::string name =
      network.names.empty() ? std::to_string(on_cycle) : network.names[on_cycle];
  fail("{}: the network has a cycle through variable {}; no variable may be its own ancestor",
       source, name);
}

// Reads the table of a factor. If its entries are probabilities, its rows, one for each combination
// of parent values, must sum to 1.
torch::Tensor read_table(UaiReader& in, const torch::Tensor& scope,
                         const std::vector<int64_t>& values, int64_t factor, bool probabilities) {
  double entries = 1;
  int64_t last = 1;  // number of values of the last variable
  for (int64_t i = 0; i < scope.size(0); ++i) {
    last = values[scope[i].item<int64_t>()];
    entries *= static_cast<double>(last);
  }
  require(entries <= kMostNetworkEntries,
          "{}: factor {} has {:.0f} entries; at most {} are allowed", in.source(), factor, entries,
          kMostNetworkEntries);
  const auto size = static_cast<int64_t>(entries);
  const std::string what = fmt::format("the table size of factor {}", factor);
  const int64_t said = in.whole(what, 1, kMostNetworkEntries);
  require(said == size, "{}: line {}: {} is not {}", in.source(), in.line(), what, size);
  torch::Tensor table = torch::empty({size}, torch::kFloat64);
  for (int64_t i = 0; i < size; ++i) {
    table.data_ptr<double>()[i] =
        in.entry(fmt::format("an entry of factor {}", factor), probabilities);
  }
  require(table.max().item<double>() > 0, "{}: line {}: all entries of factor {} are 0",
          in.source(), in.line(), factor);
  if (!probabilities) return table;
  const torch::Tensor off = (table.view({-1, last}).sum(1) - 1).abs();
  require(off.max().item<double>() <= kRowRounding,
          "{}: line {}: a row of factor {} does not sum to 1", in.source(), in.line(), factor);
  return table;
}

// Holds an index and a stride, of a variable in a factor's table or the reverse.
using Place = std::pair<int64_t, int64_t>;

// Returns the indices and the strides of the rows, one after another, int64 [N], and the place at
// which each row begins, int64 [rows + 1].
std::array<torch::Tensor, 3> joined(const std::vector<std::vector<Place>>& rows) {
  std::vector<int64_t> index, stride, first = {0};
  for (const auto& row : rows) {
    for (const auto& [i, step] : row) {
      index.push_back(i);
      stride.push_back(step);
    }
    first.push_back(std::ssize(index));
  }
  return {torch::tensor(index, torch::kInt64), torch::tensor(stride, torch::kInt64),
          torch::tensor(first, torch::kInt64)};
}

// Returns the indices and the strides of the rows, int64 [N, most in a row]. Unused places are 0.
std::pair<torch::Tensor, torch::Tensor> padded(const std::vector<std::vector<Place>>& rows) {
  size_t most = 1;
  for (const auto& row : rows) most = std::max(most, row.size());
  const auto count = std::ssize(rows), width = static_cast<int64_t>(most);
  torch::Tensor index = torch::zeros({count, width}, torch::kInt64), stride = index.clone();
  for (int64_t n = 0; n < count; ++n) {
    for (size_t i = 0; i < rows[n].size(); ++i) {
      index.data_ptr<int64_t>()[n * width + static_cast<int64_t>(i)] = rows[n][i].first;
      stride.data_ptr<int64_t>()[n * width + static_cast<int64_t>(i)] = rows[n][i].second;
    }
  }
  return {index, stride};
}

}  // namespace

BayesNetModel::BayesNetModel(const std::vector<int64_t>& values,
                             const std::vector<BayesNetFactor>& factors,
                             const std::vector<std::pair<int64_t, int64_t>>& evidence)
    : variables_(std::ssize(values)),
      values_(std::max<int64_t>(2, *std::max_element(values.begin(), values.end()))) {
  const int64_t count = static_cast<int64_t>(factors.size());
  std::vector<std::vector<Place>> scopes(count), own(variables_);
  std::vector<torch::Tensor> costs;
  std::vector<int64_t> offset;
  int64_t first = 0;
  for (int64_t f = 0; f < count; ++f) {
    const BayesNetFactor& factor = factors[f];
    int64_t step = 1;
    for (int64_t i = factor.variables.size(0) - 1; i >= 0; --i) {
      const auto variable = factor.variables[i].item<int64_t>();
      scopes[f].emplace_back(variable, step);
      own[variable].emplace_back(f, step);
      step *= values[variable];
    }
    const torch::Tensor zero = torch::full({}, factor.zero, torch::kFloat64);
    costs.push_back(-torch::where(factor.table == 0, zero, factor.table).log());
    offset.push_back(first);
    first += factor.table.size(0);
  }
  cost_ = register_buffer("cost", torch::cat(costs));
  offset_ = register_buffer("offset", torch::tensor(offset, torch::kInt64));
  const auto [scope, stride] = padded(scopes);
  scope_ = register_buffer("scope", scope);
  stride_ = register_buffer("stride", stride);
  const auto [own_factor, own_stride, first_own] = joined(own);
  own_factor_ = register_buffer("own_factor", own_factor);
  own_stride_ = register_buffer("own_stride", own_stride);
  first_own_ = register_buffer("first_own", first_own);
  const torch::Tensor number = first_own.diff();
  own_site_ = register_buffer("own_site", torch::repeat_interleave(number));
  most_own_ = number.max().item<int64_t>();
  forbid(values, evidence);
}

// Makes the table of forbidden values. It stays undefined if all variables have all values and
// there is no evidence.
void BayesNetModel::forbid(const std::vector<int64_t>& values,
                           const std::vector<std::pair<int64_t, int64_t>>& evidence) {
  const bool equal =
      std::all_of(values.begin(), values.end(), [&](int64_t n) { return n == values_; });
  if (equal && evidence.empty()) return;
  const torch::Tensor last = torch::tensor(values, torch::kInt64) - 1;
  torch::Tensor cost = torch::where(torch::arange(values_) > last.unsqueeze(1), kForbidden,
                                    torch::zeros({}, torch::kFloat64));
  for (const auto& [variable, value] : evidence) {
    cost[variable].fill_(kForbidden);
    cost[variable][value].zero_();
  }
  last_ = register_buffer("last", last);
  forbidden_ = register_buffer("forbidden", cost);
}

// Returns the values [B, D] with which tables are looked up: those that a variable does not have
// are replaced by its last one, and cost kForbidden.
torch::Tensor BayesNetModel::looked_up(const torch::Tensor& value) const {
  return last_.defined() ? torch::minimum(value, last_.to(torch::kInt64)) : value;
}

// Returns the index into cost_ of each factor's value, int64 [B, F].
torch::Tensor BayesNetModel::entries(const torch::Tensor& x) const {
  const torch::Tensor value = looked_up(x.to(torch::kInt64));
  const torch::Tensor of_factors =
      value.index_select(1, scope_.flatten()).view({-1, scope_.size(0), scope_.size(1)});
  return of_factors.mul(stride_).sum(2).add_(offset_);
}

// Returns the same of some factors of each chain, int64 [B, P], without a look at other sites than
// theirs.
torch::Tensor BayesNetModel::entries_of(const torch::Tensor& x,
                                        const torch::Tensor& factors) const {
  const torch::Tensor rows = factors.flatten(), stride = stride_.index_select(0, rows);
  const torch::Tensor scope = scope_.index_select(0, rows).view({x.size(0), -1});
  torch::Tensor value = x.gather(1, scope).to(torch::kInt64);
  if (last_.defined()) value = torch::minimum(value, last_.to(torch::kInt64).take(scope));
  return (value.view(stride.sizes()).mul_(stride).sum(1) + offset_.index_select(0, rows))
      .view(factors.sizes());
}

torch::Tensor BayesNetModel::costs(const torch::Tensor& entries) const {
  return cost_.index_select(0, entries.flatten()).view(entries.sizes());
}

// Returns what the values, int64 [B, D], cost because they are forbidden, float64 [B, D].
torch::Tensor BayesNetModel::penalties(const torch::Tensor& value) const {
  return forbidden_.gather(1, value.t()).t();
}

torch::Tensor BayesNetModel::energy(const torch::Tensor& x) {
  const torch::Tensor energy = costs(entries(x)).sum(1);
  return forbidden_.defined() ? energy + penalties(x.to(torch::kInt64)).sum(1) : energy;
}

void BayesNetModel::evaluate_differences(const torch::Tensor& x, Evaluation& out) {
  const torch::Tensor all = entries(x), value = x.to(torch::kInt64), present = looked_up(value);
  const torch::Tensor own = all.t().index_select(0, own_factor_), here = costs(own);  // [P, B]
  torch::Tensor energy = costs(all).sum(1), penalty;
  if (forbidden_.defined()) {
    penalty = penalties(value);
    energy = energy + penalty.sum(1);
  }
  store(out.energy, energy);
  const auto to = [&](const torch::Tensor& k) {  // U(x) − U(x with x_i ← k_i) for all sites i
    const torch::Tensor change = (looked_up(k) - present).t().index_select(0, own_site_);
    const torch::Tensor less = here - costs(own + change * own_stride_.unsqueeze(1));
    torch::Tensor difference =
        torch::segment_reduce(less, "sum", /*lengths=*/{}, /*indices=*/{}, /*offsets=*/first_own_,
                              /*axis=*/0, /*unsafe=*/true, /*initial=*/0.0)
            .t();
    if (penalty.defined()) difference += penalty - penalties(k);
    return difference.to(torch::kFloat32).contiguous();
  };
  if (values_ == 2) return store(out.differences, to(1 - value));
  std::vector<torch::Tensor> columns;
  for (int64_t k = 0; k < values_; ++k) columns.push_back(to(torch::full_like(value, k)));
  store(out.differences, torch::stack(columns, 2));
}

void BayesNetModel::conditional_differences(const torch::Tensor& x, const torch::Tensor& site,
                                            torch::Tensor& out) {
  // A site with fewer factors than another has strides of 0 in their place, which change nothing.
  const torch::Tensor first = first_own_.index_select(0, site).unsqueeze(1);
  const torch::Tensor number = first_own_.index_select(0, site + 1).unsqueeze(1) - first;
  // The largest number among these sites is read where that does not wait for the device.
  const bool known = x.is_cpu() && x.size(0) > 0;
  const torch::Tensor nth =
      torch::arange(known ? number.max().item<int64_t>() : most_own_, site.options());
  const torch::Tensor pair = (first + nth).clamp_max(own_factor_.size(0) - 1);
  const torch::Tensor own = entries_of(x, own_factor_.take(pair));
  const torch::Tensor stride = own_stride_.take(pair).mul_(nth < number);
  const torch::Tensor value = x.gather(1, site.unsqueeze(1)).to(torch::kInt64);
  const torch::Tensor last = last_.defined()
                                 ? last_.to(torch::kInt64).index_select(0, site).unsqueeze(1)
                                 : torch::full_like(value, values_ - 1);
  const torch::Tensor present = torch::minimum(value, last), here = costs(own);
  std::vector<torch::Tensor> columns;
  for (int64_t k = 0; k < values_; ++k) {
    columns.push_back((costs(own + (last.clamp_max(k) - present) * stride) - here).sum(1));
  }
  torch::Tensor differences = torch::stack(columns, 1);
  if (forbidden_.defined()) {
    const torch::Tensor penalty = forbidden_.index_select(0, site);
    differences += penalty - penalty.gather(1, value);
  }
  store(out, differences);
}

namespace {

bool is_network_word(const std::string& word) {
  return word == "BAYES" || word == "bayes" || word == "MARKOV" || word == "markov";
}

}  // namespace

bool is_network_text(const std::filesystem::path& file) {
  UaiReader in(file);
  return (!in.done() && is_network_word(in.word("its first word"))) || is_bif_text(file);
}

namespace {

NetworkText read_uai(UaiReader& in) {
  const std::string kind = in.word("its first word");
  const bool bayes = kind == "BAYES" || kind == "bayes";
  require(bayes || is_network_word(kind),
          "{}: the file begins with '{}', but a network in .uai format begins with BAYES or "
          "MARKOV, and one in BIF with the word network",
          in.source(), kind);
  const int64_t variables = in.whole("the number of variables", 1, kMostNetworkVariables);
  NetworkText network = {.kind = bayes ? "BAYES" : "MARKOV",
                         .values = read_values(in, variables),
                         .factors = {},
                         .names = {}};
  const int64_t count = in.whole("the number of factors", bayes ? variables : 1,
                                 bayes ? variables : kMostNetworkEntries);
  std::vector<BayesNetFactor>& factors = network.factors;
  std::set<int64_t> children;
  for (int64_t f = 0; f < count; ++f) {
    factors.push_back({read_scope(in, variables, f, bayes ? 1 : 0), {}});
    if (bayes) children.insert(factors.back().variables[-1].item<int64_t>());
  }
  require(!bayes || std::ssize(children) == variables,
          "{}: {} variables are not the child of any factor", in.source(),
          variables - std::ssize(children));
  if (bayes) check_acyclic(in.source(), network);
  int64_t entries = 0;
  for (int64_t f = 0; f < count; ++f) {
    factors[f].table = read_table(in, factors[f].variables, network.values, f, bayes);
    if (!bayes) {
      factors[f].zero = std::max(factors[f].zero * factors[f].table.max().item<double>(),
                                 std::numeric_limits<double>::denorm_min());
    }
    entries += factors[f].table.size(0);
    require(entries <= kMostNetworkEntries, "{}: the tables of the file have more than {} entries",
            in.source(), kMostNetworkEntries);
  }
  return network;
}

NetworkReading reading_of(const NetworkText& network) {
  const std::vector<int64_t>& values = network.values;
  NetworkReading reading = {.kind = network.kind,
                            .variables = std::ssize(values),
                            .least_values = *std::min_element(values.begin(), values.end()),
                            .most_values = *std::max_element(values.begin(), values.end()),
                            .factors = std::ssize(network.factors),
                            .entries = 0,
                            .names = network.names};
  for (const BayesNetFactor& factor : network.factors) {
    reading.entries += factor.table.size(0);
    reading.zeros += (factor.table == 0).sum().item<int64_t>();
  }
  return reading;
}

}  // namespace

std::shared_ptr<BayesNetModel> read_bayesnet(const std::filesystem::path& file) {
  const bool bif = is_bif_text(file);
  UaiReader in(file);
  const NetworkText network = bif ? read_bif(file) : read_uai(in);
  if (bif) check_acyclic(in.source(), network);
  const std::vector<int64_t>& values = network.values;
  NetworkReading reading = reading_of(network);
  std::vector<std::pair<int64_t, int64_t>> evidence;
  const std::filesystem::path beside = file.string() + ".evid";
  if (!bif && !in.done()) {
    evidence = read_evidence(in, values);
    reading.evidence_from = "the end of the file";
  } else if (std::filesystem::exists(beside)) {
    UaiReader observed(beside);
    evidence = read_evidence(observed, values);
    reading.evidence_from = beside.string();
  }
  reading.observed = std::ssize(evidence);
  if (reading.zeros > 0) {
    const bool one = reading.zeros == 1, factors = reading.kind == "MARKOV";
    TORCH_WARN(in.source(), ": ", reading.zeros,
               factors ? (one ? " entry of a factor" : " entries of factors")
                       : (one ? " probability" : " probabilities"),
               one ? " is 0 and counts as 1e-30" : " are 0 and count as 1e-30",
               factors ? " of the largest entry" : "",
               ": single-site moves may not connect the states; use block-gibbs or --rungs");
  }
  auto model = std::make_shared<BayesNetModel>(values, network.factors, evidence);
  model->reading_ = reading;
  return model;
}

namespace {

std::shared_ptr<EnergyModel> load_bayesnet(const ModelOptions& options) {
  return read_bayesnet(options.weights);
}

}  // namespace

std::vector<ModelEntry> bayesnet_models() {
  return {{"bayesnet", "-log prod_i p(x_i given its parents)",
           "a network in .uai format, BAYES or MARKOV, or in BIF", "binary, categorical", false,
           load_bayesnet}};
}

}  // namespace isinglass
