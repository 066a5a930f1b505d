// Reads values separated by vertical bars (.psv): one image per line, whose pixels are real numbers
// from 0 to 1.
#include <charconv>
#include <sstream>

#include "io/error.h"
#include "io/files.h"
#include "train/data/formats/format.h"

namespace isinglass {
namespace {

constexpr size_t kLargest = size_t{1} << 30;

// Appends the numbers of a line to `values`. Throws Error, which begins with `where`, for anything
// else.
void parse_line(const std::string& line, const std::string& where, std::vector<float>& values) {
  std::istringstream fields(line);
  for (std::string field; std::getline(fields, field, '|');) {
    float value = 0;
    const auto [end, code] = std::from_chars(field.data(), field.data() + field.size(), value);
    require(code == std::errc() && end == field.data() + field.size(), "{}: '{}' is not a number",
            where, field);
    values.push_back(value);
  }
}

// Returns the images, float32 [lines, numbers per line].
torch::Tensor read_psv(const std::filesystem::path& file) {
  std::istringstream lines(read_maybe_gzip(file, kLargest));
  std::vector<float> values;
  int64_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string where = fmt::format("{}, line {}", file.string(), ++count);
    const size_t before = values.size();
    parse_line(line, where, values);
    const size_t width = values.size() / static_cast<size_t>(count);
    require(width > 0 && values.size() - before == width &&
                values.size() == width * static_cast<size_t>(count),
            "{}: {} numbers, unlike the lines before", where, values.size() - before);
  }
  require(count > 0, "{} is empty", file.string());
  return torch::tensor(values).view({count, -1});
}

}  // namespace

std::vector<DataFormat> psv_formats() {
  const auto recognises = [](const std::filesystem::path& file, const std::string&) {
    return is_named(file, ".psv");
  };
  return {{"PSV", recognises, read_psv}};
}

}  // namespace isinglass
