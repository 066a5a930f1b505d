// Implements the BIF reader, by a list of the file's words and their lines.
#include "models/density/bif_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "io/error.h"
#include "io/files.h"

namespace isinglass {
namespace {

struct Word {
  std::string text;
  int64_t line;         // counted from 1
  bool quoted = false;  // A quoted word is a name and never punctuation.
};

// Splits a text into words and punctuation, without comments.
class BifWords {
 public:
  explicit BifWords(const std::filesystem::path& file) : source_(file.string()) {
    text_ = read_file(file);
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte-order mark
  }

  const std::string& source() const { return source_; }

  // Returns the next word without taking it; an empty one at the end of the file.
  const Word& peek() {
    if (!ahead_) next_ = read(), ahead_ = true;
    return next_;
  }
  bool done() { return peek().text.empty() && !peek().quoted; }

  // Takes the next word; `what` names it in the error at the end of the file.
  Word take(std::string_view what) {
    require(!done(), "{}: the file ends before {}", source_, what);
    ahead_ = false;
    return next_;
  }
  bool next_is(std::string_view text) { return !peek().quoted && peek().text == text; }

  // Takes the next word if it is this one.
  bool skip(std::string_view text) {
    if (!next_is(text)) return false;
    ahead_ = false;
    return true;
  }
  void expect(std::string_view text) {
    const Word word = take(fmt::format("'{}'", text));
    require(!word.quoted && word.text == text,
            "{}: line {}: '{}' is needed where the file has '{}'", source_, word.line, text,
            word.text);
  }
  // Takes a name, quoted or not.
  Word name(std::string_view what) {
    const Word word = take(what);
    require(word.quoted || word.text.find_first_of("{}()[];") == word.text.npos,
            "{}: line {}: {} is needed where the file has '{}'", source_, word.line, what,
            word.text);
    return word;
  }
  void skip_separators() {
    while (skip(",") || skip("|")) {
    }
  }

 private:
  Word read() {
    skip_space();
    if (at_ == text_.size()) return {"", line_};
    if (text_[at_] == '"') return read_quoted();
    constexpr std::string_view kPunctuation = "{}()[];,|";
    if (kPunctuation.find(text_[at_]) != kPunctuation.npos) {
      return {std::string(1, text_[at_++]), line_};
    }
    const size_t end = std::min(text_.find_first_of(" \t\r\n\"{}()[];,|", at_), text_.size());
    const size_t begin = std::exchange(at_, end);
    return {text_.substr(begin, end - begin), line_};
  }

  Word read_quoted() {
    const size_t end = text_.find('"', at_ + 1);
    require(end != text_.npos, "{}: line {}: the quotation mark is not closed", source_, line_);
    Word word{text_.substr(at_ + 1, end - at_ - 1), line_, true};
    line_ += std::count(word.text.begin(), word.text.end(), '\n');
    at_ = end + 1;
    return word;
  }

  void skip_space() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
      } else if (text_.compare(at_, 2, "//") == 0) {
        at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
      } else if (text_.compare(at_, 2, "/*") == 0) {
        const size_t end = text_.find("*/", at_ + 2);
        require(end != text_.npos, "{}: line {}: the comment is not closed", source_, line_);
        line_ += std::count(text_.begin() + static_cast<int64_t>(at_),
                            text_.begin() + static_cast<int64_t>(end), '\n');
        at_ = end + 1;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return;
      }
    }
  }

  std::string source_, text_;
  size_t at_ = 0;
  int64_t line_ = 1;
  Word next_;
  bool ahead_ = false;
};

struct BifVariable {
  std::string name;
  std::vector<std::string> values;
  bool has_table = false;
};

class BifParser {
 public:
  explicit BifParser(const std::filesystem::path& file) : in_(file) {}

  NetworkText parse() {
    in_.expect("network");
    while (!in_.next_is("{")) in_.take("'{'");
    skip_block();
    while (!in_.done()) {
      const Word word = in_.take("a block");
      const bool block = word.text == "variable" || word.text == "probability";
      require(block, "{}: line {}: 'variable' or 'probability' is needed where the file has '{}'",
              in_.source(), word.line, word.text);
      word.text == "variable" ? read_variable() : read_probability(word.line);
    }
    NetworkText network;
    require(!variables_.empty(), "{}: the network has no variable", in_.source());
    for (const BifVariable& variable : variables_) {
      require(variable.has_table, "{}: variable '{}' has no probability block", in_.source(),
              variable.name);
      network.values.push_back(std::ssize(variable.values));
      network.names.push_back(
          fmt::format("{} ({})", variable.name, fmt::join(variable.values, ", ")));
    }
    network.kind = "BIF";
    network.factors = std::move(factors_);
    return network;
  }

 private:
  void skip_block() {
    in_.expect("{");
    while (!in_.next_is("}")) in_.take("'}'");
    in_.expect("}");
  }
  void skip_property() {
    while (!in_.next_is(";")) in_.take("';'");
    in_.expect(";");
  }

  void read_variable() {
    const Word name = in_.name("the name of a variable");
    require(number_.emplace(name.text, std::ssize(variables_)).second,
            "{}: line {}: variable '{}' is declared twice", in_.source(), name.line, name.text);
    require(std::ssize(variables_) < kMostNetworkVariables,
            "{}: the network has more than {} variables", in_.source(), kMostNetworkVariables);
    variables_.push_back({name.text, {}});
    in_.expect("{");
    while (!in_.skip("}")) {
      const Word word = in_.take("'}'");
      if (word.text == "property") {
        skip_property();
        continue;
      }
      require(word.text == "type",
              "{}: line {}: 'type' or 'property' is needed where the file "
              "has '{}'",
              in_.source(), word.line, word.text);
      read_values(variables_.back());
    }
    require(!variables_.back().values.empty(), "{}: line {}: variable '{}' has no type",
            in_.source(), name.line, name.text);
  }

  void read_values(BifVariable& variable) {
    const Word type = in_.take("'discrete'");
    require(type.text == "discrete",
            "{}: line {}: variable '{}' is {}; only discrete variables "
            "are supported",
            in_.source(), type.line, variable.name, type.text);
    in_.expect("[");
    const Word count = in_.take("a number of values");
    in_.expect("]");
    in_.expect("{");
    std::set<std::string> distinct;
    variable.values.clear();
    for (in_.skip_separators(); !in_.skip("}"); in_.skip_separators()) {
      const Word value = in_.name("a value");
      require(distinct.insert(value.text).second,
              "{}: line {}: variable '{}' has the value '{}' "
              "twice",
              in_.source(), value.line, variable.name, value.text);
      variable.values.push_back(value.text);
    }
    in_.skip(";");
    require(count.text == std::to_string(variable.values.size()),
            "{}: line {}: variable '{}' has {} values, but its type says {}", in_.source(),
            count.line, variable.name, variable.values.size(), count.text);
    require(std::ssize(variable.values) <= kMostNetworkValues && !variable.values.empty(),
            "{}: line {}: a number of values is {}; 1 to {} are allowed", in_.source(), count.line,
            variable.values.size(), kMostNetworkValues);
  }

  // Reads the variables of a probability block, the child first.
  std::vector<int64_t> read_scope() {
    std::vector<int64_t> scope;
    in_.expect("(");
    for (in_.skip_separators(); !in_.skip(")"); in_.skip_separators()) {
      const Word name = in_.name("the name of a variable");
      const auto found = number_.find(name.text);
      require(found != number_.end(), "{}: line {}: no variable '{}' is declared before",
              in_.source(), name.line, name.text);
      require(std::find(scope.begin(), scope.end(), found->second) == scope.end(),
              "{}: line {}: the probability of '{}' names '{}' twice", in_.source(), name.line,
              scope.empty() ? name.text : variables_[scope[0]].name, name.text);
      scope.push_back(found->second);
    }
    return scope;
  }

  // Reads the numbers up to a semicolon.
  std::vector<double> read_numbers(const std::string& of, int64_t count, int64_t line) {
    std::vector<double> numbers;
    for (in_.skip_separators(); !in_.skip(";"); in_.skip_separators()) {
      const Word word = in_.take("';'");
      double value = -1;
      const char* begin = word.text.data() + (word.text.starts_with('+') ? 1 : 0);
      const char* end = word.text.data() + word.text.size();
      const auto [rest, error] = std::from_chars(begin, end, value);
      if (error == std::errc::result_out_of_range && rest == end) value = 0;  // such as 1e-400
      require(rest == end && value >= 0 && value <= 1,
              "{}: line {}: a probability of '{}' is '{}'; a number from 0 to 1 is needed",
              in_.source(), word.line, of, word.text);
      numbers.push_back(value);
    }
    require(std::ssize(numbers) == count,
            "{}: line {}: '{}' has {} probabilities here; {} are "
            "needed",
            in_.source(), line, of, numbers.size(), count);
    return numbers;
  }

  void require_sum(const std::string& of, const double* row, int64_t count, int64_t line) {
    double sum = 0;
    for (int64_t k = 0; k < count; ++k) sum += row[k];
    require(std::abs(sum - 1) <= kRowRounding,
            "{}: line {}: probabilities of '{}' sum to {:g}; they must sum to 1", in_.source(),
            line, of, sum);
  }

  // Reads the values of the parents up to the closing bracket. Returns the number of their row.
  int64_t read_row_number(const std::vector<int64_t>& scope, int64_t line) {
    const std::string& child = variables_[scope[0]].name;
    int64_t row = 0;
    size_t place = 1;
    for (in_.skip_separators(); !in_.skip(")"); in_.skip_separators(), ++place) {
      const Word word = in_.name("a value");
      require(place < scope.size(),
              "{}: line {}: the row of '{}' has more values than the {} "
              "parents",
              in_.source(), line, child, scope.size() - 1);
      const BifVariable& parent = variables_[scope[place]];
      const auto found = std::find(parent.values.begin(), parent.values.end(), word.text);
      require(found != parent.values.end(), "{}: line {}: '{}' is no value of '{}'; {} are",
              in_.source(), word.line, word.text, parent.name, fmt::join(parent.values, ", "));
      row = row * std::ssize(parent.values) + (found - parent.values.begin());
    }
    require(place == scope.size(), "{}: line {}: the row of '{}' has {} values for {} parents",
            in_.source(), line, child, place - 1, scope.size() - 1);
    return row;
  }

  void read_probability(int64_t line) {
    const std::vector<int64_t> scope = read_scope();
    require(!scope.empty(), "{}: line {}: a probability block names no variable", in_.source(),
            line);
    BifVariable& child = variables_[scope[0]];
    require(!child.has_table, "{}: line {}: '{}' has a second probability block", in_.source(),
            line, child.name);
    child.has_table = true;
    double size = static_cast<double>(child.values.size());
    for (size_t i = 1; i < scope.size(); ++i) {
      size *= static_cast<double>(variables_[scope[i]].values.size());
    }
    entries_ += size;
    require(entries_ <= kMostNetworkEntries,
            "{}: line {}: the tables of the file have more than {} entries", in_.source(), line,
            kMostNetworkEntries);
    const int64_t values = std::ssize(child.values), rows = static_cast<int64_t>(size) / values;
    std::vector<double> table(static_cast<size_t>(size));
    std::vector<bool> given(rows, false);
    std::vector<double> of_others;  // the row of `default`
    in_.expect("{");
    while (!in_.skip("}")) {
      const Word word = in_.take("'}'");
      if (word.text == "property") {
        skip_property();
      } else if (word.text == "table") {
        const std::vector<double> all = read_numbers(child.name, values * rows, word.line);
        for (int64_t row = 0; row < rows; ++row) {
          for (int64_t k = 0; k < values; ++k) table[row * values + k] = all[k * rows + row];
          require_sum(child.name, &table[row * values], values, word.line);
        }
        given.assign(rows, true);
      } else if (word.text == "default") {
        of_others = read_numbers(child.name, values, word.line);
        require_sum(child.name, of_others.data(), values, word.line);
      } else {
        require(word.text == "(",
                "{}: line {}: 'table', 'default' or '(' is needed where the file "
                "has '{}'",
                in_.source(), word.line, word.text);
        const int64_t row = read_row_number(scope, word.line);
        require(!given[row], "{}: line {}: the row of '{}' is given twice", in_.source(), word.line,
                child.name);
        given[row] = true;
        const std::vector<double> numbers = read_numbers(child.name, values, word.line);
        require_sum(child.name, numbers.data(), values, word.line);
        std::copy(numbers.begin(), numbers.end(), table.begin() + row * values);
      }
    }
    for (int64_t row = 0; row < rows; ++row) {
      if (given[row]) continue;
      require(!of_others.empty(),
              "{}: line {}: the probabilities of '{}' lack the row ({}), and "
              "there is no default",
              in_.source(), line, child.name, row_name(scope, row));
      std::copy(of_others.begin(), of_others.end(), table.begin() + row * values);
    }
    std::vector<int64_t> variables(scope.begin() + 1, scope.end());
    variables.push_back(scope[0]);
    factors_.push_back(
        {torch::tensor(variables, torch::kInt64), torch::tensor(table, torch::kFloat64)});
  }

  // Returns the values of the parents in a row.
  std::string row_name(const std::vector<int64_t>& scope, int64_t row) const {
    std::vector<std::string> words(scope.size() - 1);
    for (size_t i = scope.size(); i-- > 1;) {
      const std::vector<std::string>& values = variables_[scope[i]].values;
      words[i - 1] = values[row % std::ssize(values)];
      row /= std::ssize(values);
    }
    return fmt::format("{}", fmt::join(words, ", "));
  }

  BifWords in_;
  std::vector<BifVariable> variables_;
  std::map<std::string, int64_t> number_;
  std::vector<BayesNetFactor> factors_;
  double entries_ = 0;
};

}  // namespace

bool is_bif_text(const std::filesystem::path& file) {
  BifWords words(file);
  return words.next_is("network");
}

NetworkText read_bif(const std::filesystem::path& file) {
  return BifParser(file).parse();
}

}  // namespace isinglass
