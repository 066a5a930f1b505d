// Implements the splitting of texts into words, and the conversion of words into numbers.
#include "models/lattice/text_lines.h"

#include <algorithm>
#include <charconv>
#include <fstream>

#include "io/error.h"
#include "io/files.h"
#include "io/pt/utf8.h"

namespace isinglass {
namespace {

constexpr std::string_view kSpace = " \t\r";
constexpr size_t kLargestText = size_t{1} << 31;  // bytes, decompressed

std::string_view trimmed(std::string_view text, std::string_view what) {
  const size_t begin = std::min(text.find_first_not_of(what), text.size());
  return text.substr(begin, text.find_last_not_of(what) + 1 - begin);
}

bool is_comment_mark(char c) {
  return c == '#' || c == '%';
}

// Splits a text without separators. A word that begins with { extends to the last } of the line.
std::vector<std::string_view> spaced_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t at = text.find_first_not_of(kSpace); at != text.npos;) {
    size_t end = std::min(text.find_first_of(kSpace, at), text.size());
    if (text[at] == '{') end = std::max(end, text.rfind('}') + 1);
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kSpace, end);
  }
  return words;
}

// Splits a text at every separator before the first brace. Empty fields are empty words.
std::vector<std::string_view> separated_words(std::string_view text, char separator) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at <= text.size();) {
    const bool braces = trimmed(text.substr(at), kSpace).starts_with('{');
    const size_t end = braces ? text.size() : std::min(text.find(separator, at), text.size());
    words.push_back(trimmed(text.substr(at, end - at), " \t\r\""));
    at = end + 1;
  }
  return words;
}

// Returns the line up to a comment mark behind a space or separator; braces hold no comments.
std::string_view without_comment(std::string_view line) {
  for (size_t at = 1; at < line.size() && line[at] != '{'; ++at) {
    const bool parted = std::string_view(" \t,;").find(line[at - 1]) != std::string_view::npos;
    if (parted && is_comment_mark(line[at])) return trimmed(line.substr(0, at), kSpace);
  }
  return line;
}

bool is_text(std::string_view text) {
  return is_utf8(text) && std::none_of(text.begin(), text.end(), [](unsigned char c) {
           return c < ' ' && c != '\n' && c != '\r' && c != '\t';
         });
}

}  // namespace

template <class T>
std::optional<T> number_of(std::string_view word) {
  if (word.starts_with('+') && !word.starts_with("+-")) word.remove_prefix(1);
  T value{};
  const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || rest != word.data() + word.size()) return std::nullopt;
  return value;
}
template std::optional<int64_t> number_of<int64_t>(std::string_view word);
template std::optional<double> number_of<double>(std::string_view word);

std::string lower_case(std::string_view word) {
  std::string lower(word);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

bool is_text_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string start(4096, '\0');
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<size_t>(in.gcount()));
  // The end of what was read may cut through a character.
  while (!start.empty() && static_cast<unsigned char>(start.back()) >= 0x80) start.pop_back();
  return !start.empty() && !start.starts_with("PK") && is_text(start);
}

TextLines::TextLines(const std::filesystem::path& file, const std::string& what)
    : source_(file.string()), text_(read_maybe_gzip(file, kLargestText)) {
  if (text_.starts_with("\xef\xbb\xbf")) text_.erase(0, 3);  // a byte-order mark
  require(is_text(text_), "{} is not {}: the file is not text", source_, what);
  const std::string_view text = text_;
  int64_t number = 0, place = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view all = trimmed(text.substr(at, end - at), kSpace);
    at = end + 1;
    ++number;
    if (!all.empty() && (is_comment_mark(all[0]) || spaced_words(all)[0] == "c")) {
      const std::string_view said =
          all[0] == 'c' ? all.substr(1)
                        : all.substr(std::min(all.find_first_not_of("#%"), all.size()));
      comments_.push_back({number, place, false, spaced_words(said)});
      continue;
    }
    const std::string_view said = without_comment(all);
    const std::string_view before_braces = said.substr(0, said.find('{'));
    const size_t comma = before_braces.find(','), found = std::min(comma, before_braces.find(';'));
    TextLine line = {number, place++, found != said.npos, {}};
    line.words =
        line.separated ? separated_words(said, comma != said.npos ? ',' : ';') : spaced_words(said);
    if (!line.words.empty()) lines_.push_back(std::move(line));
  }
}

int64_t TextLines::whole(const TextLine& line, size_t word, const char* what) const {
  const std::string_view text = line.words[word];
  std::optional<int64_t> value = number_of<int64_t>(text);
  constexpr double kMostExact = 9007199254740992.0;  // 2^53
  if (const auto real = number_of<double>(text);
      !value && real && std::abs(*real) <= kMostExact && *real == std::floor(*real)) {
    value = static_cast<int64_t>(*real);
  }
  require(value && *value >= 0, "{}: line {}: '{}' is not a {}; a whole number is needed", source_,
          line.number, text.substr(0, 40), what);
  return *value;
}

double TextLines::real(const TextLine& line, size_t word, const char* what) const {
  const auto value = number_of<double>(line.words[word]);
  require(value && std::isfinite(*value), "{}: line {}: '{}' is not a {}; a number is needed",
          source_, line.number, line.words[word].substr(0, 40), what);
  return *value;
}

std::optional<MatrixHeader> TextLines::matrix_header() const {
  const bool first = !comments_.empty() && comments_[0].number == 1;
  if (!first || comments_[0].words.empty()) return {};
  const std::vector<std::string_view>& words = comments_[0].words;
  if (lower_case(words[0]) != "matrixmarket") return {};
  const auto word = [&](size_t i) { return i < words.size() ? lower_case(words[i]) : ""; };
  require(
      word(1) == "matrix" && word(2) == "coordinate",
      "{}: line 1: a MatrixMarket file must hold a sparse matrix, 'matrix coordinate'; this one "
      "holds '{} {}'",
      source_, word(1), word(2));
  const bool pattern = word(3) == "pattern", symmetric = word(4) == "symmetric";
  require(pattern || word(3) == "real" || word(3) == "integer" || word(3) == "double",
          "{}: line 1: the numbers of a MatrixMarket file must be real, integer or pattern; these "
          "are '{}'",
          source_, word(3));
  require(symmetric || word(4) == "general",
          "{}: line 1: the matrix of a MatrixMarket file must be general or symmetric; this one is "
          "'{}'",
          source_, word(4));
  require(!lines_.empty() && lines_[0].words.size() == 3,
          "{}: the header of a MatrixMarket file must be followed by a line with the numbers of "
          "rows, columns and entries",
          source_);
  const TextLine& sizes = lines_[0];
  const int64_t rows = whole(sizes, 0, "number of rows");
  const int64_t columns = whole(sizes, 1, "number of columns");
  require(rows == columns, "{}: line {}: the matrix has {} rows and {} columns; it must be square",
          source_, sizes.number, rows, columns);
  return MatrixHeader{pattern, symmetric, rows, whole(sizes, 2, "number of entries")};
}

std::optional<std::string_view> named_in(const TextLine& comment, std::string_view name) {
  std::vector<std::string_view> words = comment.words;
  if (words.empty()) return {};
  if (const size_t equals = words[0].find('=');
      equals != words[0].npos && equals > 0 && equals + 1 < words[0].size()) {  // name=V
    words.insert(words.begin() + 1, words[0].substr(equals + 1));
    words[0] = words[0].substr(0, equals);
  }
  if (words[0].ends_with(':')) words[0].remove_suffix(1);
  if (words.size() < 2 || lower_case(words[0]) != name) return {};
  const size_t value = words[1] == "=" ? 2 : 1, behind = value + 1;
  if (value >= words.size()) return {};
  if (behind < words.size() && words[behind][0] != '(') return {};
  return words[value];
}

}  // namespace isinglass
