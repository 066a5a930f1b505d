// Implements the reader of tar archives.
#include "train/data/formats/tar.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "io/error.h"

namespace isinglass {
namespace {

constexpr size_t kBlock = 512;  // headers and contents fill whole blocks [bytes]

// Returns a number of a header, octal digits that a space or a zero byte ends; nothing if there are
// no digits.
std::optional<uint64_t> octal(std::string_view field) {
  field.remove_prefix(std::min(field.find_first_not_of(' '), field.size()));
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(field.begin(), field.end(), value, 8);
  if (error != std::errc()) return std::nullopt;
  return value;
}

// Returns true if the block has the checksum of a header: the sum of its bytes, with spaces in
// place of the checksum.
bool is_header(std::string_view block) {
  constexpr size_t kAt = 148, kSize = 8;
  if (block.size() < kBlock) return false;
  uint64_t sum = kSize * ' ';
  for (size_t i = 0; i < kBlock; ++i) {
    if (i < kAt || i >= kAt + kSize) sum += static_cast<unsigned char>(block[i]);
  }
  return octal(block.substr(kAt, kSize)) == sum;
}

std::string_view name_in(std::string_view header) {
  const std::string_view path = header.substr(0, std::min<size_t>(header.find('\0'), 100));
  return path.substr(path.rfind('/') + 1);  // all of it if there is no slash
}

}  // namespace

std::string content_of_tar(const std::filesystem::path& file, std::string bytes) {
  std::string_view rest = bytes;
  if (!is_header(rest)) return bytes;
  std::optional<std::string_view> found;
  while (is_header(rest)) {
    const std::string_view header = rest.substr(0, kBlock);
    const std::optional<uint64_t> size = octal(header.substr(124, 12));
    rest.remove_prefix(kBlock);
    require(size && *size <= rest.size(), "{} is a truncated tar archive", file.string());
    const char type = header[156];
    const bool is_file = (type == '0' || type == '\0') && !name_in(header).starts_with("._");
    require(!is_file || !found, "{} contains several files; expected one", file.string());
    if (is_file) found = rest.substr(0, *size);
    rest.remove_prefix(std::min<size_t>((*size + kBlock - 1) / kBlock * kBlock, rest.size()));
  }
  require(found.has_value(), "{} contains no file", file.string());
  return std::string(*found);
}

}  // namespace isinglass
