// Implements the reader of .npy files.
#include "train/data/formats/npy.h"

#include <charconv>

#include "io/error.h"
#include "io/files.h"
#include "train/data/formats/format.h"
#include "train/data/formats/numpy_array.h"
#include "train/data/readers.h"

namespace isinglass {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMostDimensions = 32;  // NumPy's own bound

// Parses the literal of the header from its start. Its error messages lack a subject, which the
// caller adds.
class Header {
 public:
  explicit Header(std::string_view text) : rest_(text) {}

  NumpyArray array() {
    NumpyArray array;
    bool type = false, order = false, shape = false;
    expect('{');
    while (!take('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !type) {
        require(next() != '[',
                "holds records of several numbers each; an array of numbers is needed");
        array.type = quoted();
        type = true;
      } else if (key == "fortran_order" && !order) {
        array.fortran = truth();
        order = true;
      } else if (key == "shape" && !shape) {
        array.shape = sizes();
        shape = true;
      } else {
        damaged();
      }
      if (!take(',') && next() != '}') damaged();
    }
    if (!type || !order || !shape || next() != '\0') damaged();
    return array;
  }

 private:
  [[noreturn]] static void damaged() { fail("is a damaged .npy file: its header cannot be read"); }

  // Returns the next character that is not a space; '\0' at the end.
  char next() {
    const size_t at = rest_.find_first_not_of(" \t\n\r");
    rest_.remove_prefix(std::min(at, rest_.size()));
    return rest_.empty() ? '\0' : rest_[0];
  }

  bool take(char c) {
    if (next() != c || c == '\0') return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!take(c)) damaged();
  }

  std::string_view quoted() {
    const char quote = next();
    const size_t end =
        quote == '\'' || quote == '"' ? rest_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) damaged();
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  bool truth() {
    next();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return value;
    }
    damaged();
  }

  std::vector<int64_t> sizes() {
    std::vector<int64_t> sizes;
    expect('(');
    while (!take(')')) {
      next();
      int64_t size = 0;
      const auto [end, failed] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (failed != std::errc() || size < 0 || sizes.size() == kMostDimensions) damaged();
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      take('L');  // suffix of a long integer in Python 2
      sizes.push_back(size);
      if (!take(',') && next() != ')') damaged();
    }
    return sizes;
  }

  std::string_view rest_;
};

}  // namespace

torch::Tensor npy_array(std::string_view bytes, const std::string& name) try {
  require(bytes.starts_with(kMagic), "is not an .npy file: it does not begin with \\x93NUMPY");
  bytes.remove_prefix(kMagic.size());
  require(bytes.size() >= 2 && bytes[0] >= 1 && bytes[0] <= 3,
          "is a damaged .npy file, or its format version is above 3");
  const size_t width = bytes[0] == 1 ? 2 : 4;
  bytes.remove_prefix(2);
  require(bytes.size() >= width, "is a damaged .npy file: it ends inside its header");
  size_t length = 0;
  for (size_t i = 0; i < width; ++i) length |= size_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  bytes.remove_prefix(width);
  require(bytes.size() >= length, "is a damaged .npy file: it ends inside its header");
  NumpyArray array = Header(bytes.substr(0, length)).array();
  array.bytes = bytes.substr(length);
  return tensor_of(array);
} catch (const Error& error) {
  fail("{} {}", name, error.what());
}

torch::Tensor read_npy(const std::filesystem::path& file) {
  return npy_array(read_maybe_gzip(file, kLargestDataFile), file.string());
}

std::vector<DataFormat> npy_formats() {
  const auto recognises = [](const std::filesystem::path& file, const std::string& start) {
    return start.starts_with(kMagic) || is_named(file, ".npy");
  };
  return {{"NumPy .npy", recognises, read_npy}};
}

}  // namespace isinglass
