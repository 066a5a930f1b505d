// Implements the parser of quadratic functions.
#include "models/lattice/quadratic_file.h"

#include <algorithm>
#include <cmath>

#include "io/error.h"
#include "models/lattice/text_lines.h"

namespace isinglass {
namespace {

constexpr int64_t kMostVariables = 1 << 24;

struct Term {
  int64_t line, i, j;
  double value;
};

std::optional<Variables> named_kind(const TextLines& text) {
  for (const TextLine& comment : text.comments()) {
    const auto said = named_in(comment, "vartype");
    if (!said) continue;
    const std::string kind = lower_case(*said);
    require(kind == "spin" || kind == "binary",
            "{}: line {}: the vartype is '{}'; SPIN and BINARY are allowed", text.source(),
            comment.number, *said);
    return kind == "spin" ? Variables::kSpin : Variables::kBinary;
  }
  return {};
}

class QuadraticReader {
 public:
  QuadraticReader(const std::filesystem::path& file, Variables kind)
      : text_(file, "a quadratic function"), kind_(kind) {}

  Quadratic read() {
    const auto named = named_kind(text_);
    require(!named || *named == kind_, "{}: the variables of the file are {}; use the model {}",
            source(), *named == Variables::kSpin ? "spins" : "binary",
            *named == Variables::kSpin ? "ising" : "qubo");
    subtracted_ = kind_ == Variables::kSpin && !named;
    const auto matrix = text_.matrix_header();
    require(!lines().empty(), "{} is not a quadratic function: the file has no terms", source());
    if (matrix) {
      read_matrix(*matrix);
    } else if (lines()[0].words[0] == "p") {
      read_qbsolv();
    } else {
      read_list();
    }
    require(!terms_.empty(), "{} is not a quadratic function: the file has no terms", source());
    number_variables();
    return function();
  }

 private:
  const std::string& source() const { return text_.source(); }
  const std::vector<TextLine>& lines() const { return text_.lines(); }

  Term term(const TextLine& line, bool has_value = true) const {
    const size_t words = has_value ? 3 : 2;
    require(line.words.size() == words,
            "{}: line {} has {} word{}; a term must have the form 'i j{}'", source(), line.number,
            line.words.size(), line.words.size() == 1 ? "" : "s", has_value ? " value" : "");
    return {line.number, text_.whole(line, 0, "variable"), text_.whole(line, 1, "variable"),
            has_value ? text_.real(line, 2, "value") : 1};
  }

  void read_matrix(const MatrixHeader& matrix) {
    for (size_t l = 1; l < lines().size(); ++l) {
      terms_.push_back(term(lines()[l], !matrix.pattern));
    }
    format_ = "MatrixMarket";
    first_ = 1;
    variables_ = matrix.size;
    check_count("entries", matrix.entries, std::ssize(terms_));
    doubled_ = matrix.symmetric && kind_ == Variables::kBinary;
    require(!matrix.symmetric || pairs_in_both_directions() == 0,
            "{}: the matrix is symmetric, but the file lists an entry on either side of its "
            "diagonal; one triangle must be listed",
            source());
  }

  void read_qbsolv() {
    const TextLine& head = lines()[0];
    require(head.words.size() == 6 && head.words[1] == "qubo",
            "{}: line {}: a qbsolv header must have the form 'p qubo 0 n diagonals couplers'",
            source(), head.number);
    require(kind_ == Variables::kBinary,
            "{}: the variables of the file are binary; use the model "
            "qubo",
            source());
    variables_ = text_.whole(head, 3, "number of variables");
    for (size_t l = 1; l < lines().size(); ++l) terms_.push_back(term(lines()[l]));
    const int64_t diagonals =
        std::count_if(terms_.begin(), terms_.end(), [](const Term& t) { return t.i == t.j; });
    check_count("diagonal terms", text_.whole(head, 4, "number of diagonals"), diagonals);
    check_count("couplers", text_.whole(head, 5, "number of couplers"),
                std::ssize(terms_) - diagonals);
    format_ = "qbsolv";
    first_ = 0;
  }

  void read_list() {
    const TextLine& head = lines()[0];
    const bool header = head.words.size() == 2;
    for (size_t l = header ? 1 : 0; l < lines().size(); ++l) terms_.push_back(term(lines()[l]));
    format_ = header ? "BiqMac" : "list";
    if (header) {
      variables_ = text_.whole(head, 0, "number of variables");
      check_count("entries", text_.whole(head, 1, "number of entries"), std::ssize(terms_));
      doubled_ = kind_ == Variables::kBinary && pairs_in_both_directions() == 0;
    }
    const bool from_zero = std::any_of(terms_.begin(), terms_.end(),
                                       [](const Term& t) { return t.i == 0 || t.j == 0; });
    first_ = from_zero ? 0 : 1;
  }

  int64_t pairs_in_both_directions() const {
    std::vector<std::pair<int64_t, int64_t>> pairs;
    for (const Term& t : terms_) pairs.emplace_back(t.i, t.j);
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    return std::count_if(pairs.begin(), pairs.end(), [&](const auto& pair) {
      return pair.first < pair.second &&
             std::binary_search(pairs.begin(), pairs.end(), std::pair(pair.second, pair.first));
    });
  }

  int64_t distinct_lines() const {
    std::vector<std::pair<int64_t, int64_t>> pairs;
    for (const Term& t : terms_) pairs.emplace_back(t.i, t.j);
    std::sort(pairs.begin(), pairs.end());
    return std::unique(pairs.begin(), pairs.end()) - pairs.begin();
  }

  void check_count(const char* what, int64_t said, int64_t listed) const {
    require(said == listed, "{}: the header gives {} {}, but the file has {}", source(), said, what,
            listed);
  }

  // Checks the numbers of the variables and counts these from 0.
  void number_variables() {
    both_directions_ = pairs_in_both_directions();
    repeated_ = std::ssize(terms_) - distinct_lines();
    const int64_t last = first_ + (variables_ ? *variables_ : kMostVariables) - 1;
    int64_t largest = 0;
    for (Term& t : terms_) {
      for (int64_t* variable : {&t.i, &t.j}) {
        require(*variable >= first_ && *variable <= last,
                "{}: line {}: variable {} is not between {} and {}", source(), t.line, *variable,
                first_, last);
        *variable -= first_;
        largest = std::max(largest, *variable);
      }
    }
    if (!variables_) variables_ = largest + 1;
    require(*variables_ <= kMostVariables, "{} has {} variables; at most {} are allowed", source(),
            *variables_, kMostVariables);
  }

  Quadratic function() const {
    torch::Tensor linear = torch::zeros({*variables_}, torch::kFloat64);
    std::vector<int64_t> ends;
    std::vector<double> values;
    std::vector<bool> used(*variables_, false), diagonal(*variables_, false);
    for (const Term& t : terms_) {
      const double value = (subtracted_ ? -1 : 1) * t.value;
      used[t.i] = used[t.j] = true;
      if (t.i == t.j) {
        linear.data_ptr<double>()[t.i] += value;
        diagonal[t.i] = true;
      } else {
        ends.push_back(t.i);
        ends.push_back(t.j);
        values.push_back(doubled_ ? 2 * value : value);
      }
    }
    const auto pairs = std::ssize(values);
    Quadratic result =
        quadratic_of(kind_, linear, torch::tensor(ends, torch::kInt64).view({pairs, 2}),
                     torch::tensor(values, torch::kFloat64), comment_number("offset").value_or(0));
    require(
        result.linear.isfinite().all().item<bool>() && result.weight.isfinite().all().item<bool>(),
        "{}: terms of the file add up to a number that float64 cannot hold", source());
    result.optimum = comment_number("optimum");
    result.reading = QuadraticReading{
        .format = format_,
        .variable_kind = kind_ == Variables::kSpin ? "spin" : "binary",
        .sum = doubled_ ? "one triangle of a symmetric matrix: off-diagonal entries count twice"
               : subtracted_ ? "couplings and fields are subtracted"
                             : "all lines are added",
        .first_variable = first_,
        .variables = *variables_,
        .linear_terms = std::count(diagonal.begin(), diagonal.end(), true),
        .pairs = result.edges.size(0),
        .isolated_variables = std::count(used.begin(), used.end(), false),
        .both_directions = both_directions_,
        .repeated_lines = repeated_,
        .offset = result.offset};
    return result;
  }

  std::optional<double> comment_number(const char* name) const {
    std::optional<double> value;
    for (const TextLine& comment : text_.comments()) {
      const auto said = named_in(comment, name);
      const auto number = said ? number_of<double>(*said) : std::nullopt;
      if (number && std::isfinite(*number)) value = number;
    }
    return value;
  }

  TextLines text_;
  Variables kind_;
  std::vector<Term> terms_;
  std::string format_;
  std::optional<int64_t> variables_;
  int64_t first_ = 0, both_directions_ = 0, repeated_ = 0;
  bool doubled_ = false;     // off-diagonal lines count twice
  bool subtracted_ = false;  // all lines count with the sign −
};

}  // namespace

Quadratic read_quadratic(const std::filesystem::path& file, Variables kind) {
  return QuadraticReader(file, kind).read();
}

std::optional<Variables> quadratic_kind(const std::filesystem::path& file) {
  const TextLines text(file, "a quadratic function");
  if (const auto named = named_kind(text)) return named;
  if (text.lines().empty()) return {};
  const std::string extension = lower_case(file.extension().string());
  const bool named =
      extension == ".qubo" || extension == ".bq" || extension == ".sparse" || extension == ".coo";
  const std::vector<std::string_view>& head = text.lines()[0].words;
  const bool qbsolv = head.size() > 1 && head[0] == "p" && head[1] == "qubo";
  const int header = text.matrix_header() ? 1 : 0;
  // The header of a METIS graph, n m [format], may look like a term, but lists of neighbours
  // follow.
  const bool terms = std::all_of(text.lines().begin() + 1, text.lines().end(),
                                 [](const TextLine& line) { return line.words.size() == 3; });
  const bool diagonal =
      terms &&
      std::any_of(text.lines().begin() + header, text.lines().end(), [](const TextLine& line) {
        return line.words.size() == 3 && line.words[0] == line.words[1];
      });
  if (named || qbsolv || diagonal) return Variables::kBinary;
  return {};
}

Quadratic quadratic_of(Variables kind, const torch::Tensor& linear, const torch::Tensor& edges,
                       const torch::Tensor& weight, double offset) {
  const int64_t variables = linear.size(0);
  const torch::Tensor ends = std::get<0>(edges.cpu().sort(1));
  const torch::Tensor key = ends.select(1, 0) * variables + ends.select(1, 1);
  const auto [pairs, place, count] = at::_unique2(key, /*sorted=*/true, /*return_inverse=*/true);
  const torch::Tensor sums = torch::zeros({pairs.size(0)}, torch::kFloat64)
                                 .index_add_(0, place, weight.cpu().to(torch::kFloat64));
  return {kind, linear.cpu().to(torch::kFloat64),
          torch::stack({pairs.div(variables, "floor"), pairs.remainder(variables)}, 1).contiguous(),
          sums, offset};
}

}  // namespace isinglass
