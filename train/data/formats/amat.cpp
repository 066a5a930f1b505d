// Implements the reader of .amat text files.
#include "train/data/formats/amat.h"

#include <cctype>
#include <cstring>
#include <string_view>
#include <vector>

#include "io/error.h"
#include "io/files.h"
#include "train/data/formats/format.h"
#include "train/data/readers.h"

namespace isinglass {
namespace {

// Appends the pixels of a line to `pixels`. A Windows line end and trailing spaces are ignored.
void parse_line(const std::filesystem::path& file, int64_t number, std::string_view line,
                std::vector<uint8_t>& pixels) {
  line = line.substr(0, line.find_last_not_of(" \r") + 1);
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool pixel = i % 2 == 0;
    if (pixel && (c == '0' || c == '1')) {
      pixels.push_back(c == '1');
    } else if (pixel || c != ' ') {
      const std::string found = std::isprint(static_cast<unsigned char>(c))
                                    ? fmt::format("'{}'", c)
                                    : fmt::format("byte 0x{:02x}", static_cast<unsigned char>(c));
      fail("{}, line {}, column {}: expected {}, found {}", file.string(), number, i + 1,
           pixel ? "0 or 1" : "a space", found);
    }
  }
}

}  // namespace

torch::Tensor read_amat(const std::filesystem::path& file) {
  const std::string text = read_maybe_gzip(file, kLargestDataFile);
  require(!text.empty(), "{} is empty; expected one image of 0 and 1 per line", file.string());
  const size_t content = text.find_last_not_of(" \r\n") + 1;  // empty lines may follow the images
  std::vector<uint8_t> pixels;
  pixels.reserve(text.size() / 2 + 1);
  int64_t lines = 0, width = 0;
  for (size_t begin = 0, end; begin < std::max<size_t>(content, 1); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    const auto before = static_cast<int64_t>(pixels.size());
    parse_line(file, ++lines, std::string_view(text).substr(begin, end - begin), pixels);
    const int64_t found = static_cast<int64_t>(pixels.size()) - before;
    if (lines == 1) width = found;
    require(found == width && found > 0, "{}, line {} has {} pixels; expected {}", file.string(),
            lines, found, width > 0 ? fmt::format("{} as in line 1", width) : "at least one");
  }
  torch::Tensor images = torch::empty({lines, width}, torch::kUInt8);
  std::memcpy(images.data_ptr<uint8_t>(), pixels.data(), pixels.size());
  return images;
}

std::vector<DataFormat> amat_formats() {
  const auto recognises = [](const std::filesystem::path& file, const std::string&) {
    return is_named(file, ".amat");
  };
  return {{".amat text", recognises, read_amat}};
}

}  // namespace isinglass
