// Implements the reader of numbers as text.
#include "train/data/formats/csv.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "io/error.h"
#include "models/lattice/text_lines.h"
#include "train/data/formats/format.h"

namespace isinglass {
namespace {

constexpr int64_t kFewestCounted = 16;  // columns

bool counts_columns(const TextLine& line) {
  for (size_t i = 0; i < line.words.size(); ++i) {
    if (number_of<int64_t>(line.words[i]) != static_cast<int64_t>(i)) return false;
  }
  return std::ssize(line.words) >= kFewestCounted;
}

// Returns true if the line holds the names of columns. An empty first word may be a missing value,
// unless the line has names.
bool names_columns(const TextLine& line) {
  const auto named = [](std::string_view word) {
    return !word.empty() && !number_of<double>(word);
  };
  const bool empty_first = line.words[0].empty();
  return named(line.words[0]) || counts_columns(line) ||
         (empty_first && std::any_of(line.words.begin(), line.words.end(), named));
}

// Writes the numbers of a line to `row`. Returns true if all are written as whole numbers.
bool read_row(const TextLines& text, const TextLine& line, double* row) {
  bool whole = true;
  for (const std::string_view word : line.words) {
    const auto value = number_of<double>(word);
    require(word.empty() || (value && !std::isinf(*value)),
            "{}: line {}: '{}' is not a finite number; a missing value is an empty field or nan",
            text.source(), line.number, word.substr(0, 40));
    *row++ = value.value_or(std::numeric_limits<double>::quiet_NaN());
    whole = whole && number_of<int64_t>(word);
  }
  return whole;
}

}  // namespace

torch::Tensor read_csv(const std::filesystem::path& file) {
  const TextLines text(file, "a table of numbers");
  std::span<const TextLine> lines(text.lines());
  if (!lines.empty() && names_columns(lines[0])) lines = lines.subspan(1);
  require(!lines.empty(), "{} holds no numbers; expected one row of numbers a line", text.source());
  const auto columns = std::ssize(lines[0].words);
  torch::Tensor values = torch::empty({std::ssize(lines), columns}, torch::kFloat64);
  bool whole = true;
  for (int64_t i = 0; i < std::ssize(lines); ++i) {
    const TextLine& line = lines[i];
    require(std::ssize(line.words) == columns,
            "{}: line {} has {} numbers; expected {} as in line {}", text.source(), line.number,
            line.words.size(), columns, lines[0].number);
    whole = read_row(text, line, values[i].data_ptr<double>()) && whole;
  }
  const torch::Tensor empty = torch::isnan(values).all(0);
  require(!empty.any().item<bool>(),
          "{}: column {} holds no number; every column needs some, and lines must not end in a "
          "separator",
          text.source(), empty.nonzero()[0].item<int64_t>() + 1);
  return whole ? values.to(torch::kInt64) : values;
}

std::vector<DataFormat> csv_formats() {
  const auto recognises = [](const std::filesystem::path& file, const std::string&) {
    const auto endings = {".csv", ".tsv", ".txt", ".dat"};
    return std::any_of(endings.begin(), endings.end(),
                       [&](const char* ending) { return is_named(file, ending); });
  };
  return {
      {.name = "CSV text", .recognises = recognises, .read = read_csv, .text_of_numbers = true}};
}

}  // namespace isinglass
