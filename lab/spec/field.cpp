// Implements the conversion of members to and from texts.
#include "lab/spec/field.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <sstream>

#include "io/error.h"

namespace isinglass {
namespace {

constexpr const char* kAutomatic = "auto";

// Reads the whole text as "A<separator>B". Returns whether it could.
template <class T>
bool read_pair(const std::string& text, char separator, T& first, T& second) {
  const char* end = text.data() + text.size();
  const auto one = std::from_chars(text.data(), end, first);
  if (one.ec != std::errc() || one.ptr == end || *one.ptr != separator) return false;
  const auto two = std::from_chars(one.ptr + 1, end, second);
  return two.ec == std::errc() && two.ptr == end;
}

}  // namespace

ImageSize image_size(const std::string& text, const std::string& what) {
  constexpr int64_t kLargest = 65536;
  ImageSize size;
  const bool valid = read_pair(text, 'x', size.height, size.width) && size.height >= 1 &&
                     size.width >= 1 && size.height <= kLargest && size.width <= kLargest;
  require_options(valid, "{} is '{}'; HEIGHTxWIDTH in pixels is needed, such as 28x28", what, text);
  return size;
}

void read_text(const std::string& text, const std::string& option, ImageSize& size) {
  size = image_size(text, "`" + option + "`");
}

void read_text(const std::string& text, const std::string& option, AnnealSpec& anneal) {
  anneal.range.reset();
  if (text == kAutomatic) return;
  Temperatures range;
  const auto positive = [](double t) { return std::isfinite(t) && t > 0; };
  require_options(read_pair(text, ',', range.first, range.last) && positive(range.first) &&
                      positive(range.last),
                  "`{}` is '{}'; two temperatures above 0 are needed, such as 2,0.1, or auto",
                  option, text);
  require_options(range.first >= range.last,
                  "`{}` is '{}', which heats; annealing cools, so that the first temperature must "
                  "be at least the last one",
                  option, text);
  anneal.range = range;
}

void read_text(const std::string& text, const std::string& option, Bounds& bounds) {
  require_options(read_pair(text, ',', bounds.low, bounds.high),
                  "`{}` is '{}'; two numbers are needed, the lower one first, such as 0,1", option,
                  text);
  check_bounds(bounds, option);
}

void read_text(const std::string& text, const std::string& option, std::vector<NamedFile>& files) {
  std::istringstream in(text);
  for (std::string item; std::getline(in, item, ',');) {
    const size_t equals = item.find('=');
    require_options(equals != std::string::npos && equals > 0 && equals + 1 < item.size(),
                    "`{}` has '{}'; NAME=FILE.pt is needed, a model and its parameter file", option,
                    item);
    files.push_back({item.substr(0, equals), item.substr(equals + 1)});
  }
  require_options(!files.empty() && text.back() != ',', "`{}` is '{}'; NAME=FILE.pt is needed",
                  option, text);
}

void read_text(const std::string& text, const std::string& option, NamedFile& file) {
  std::vector<NamedFile> files;
  read_text(text, option, files);
  require_options(files.size() == 1, "`{}` is {}; one NAME=FILE.pt is needed", option, text);
  file = files.front();
}

void read_text(const std::string& text, const std::string&, RateSchedule& schedule) {
  schedule = rate_schedule(text);
}

std::string text_of(RateSchedule schedule) {
  return name_of(schedule);
}

std::string text_of(const ImageSize& size) {
  return fmt::format("{}x{}", size.height, size.width);
}

std::string text_of(const AnnealSpec& anneal) {
  return anneal.range ? fmt::format("{},{}", anneal.range->first, anneal.range->last) : kAutomatic;
}

std::string text_of(const Bounds& bounds) {
  return fmt::format("{},{}", bounds.low, bounds.high);
}

std::string text_of(const NamedFile& file) {
  return file.name + "=" + file.file.string();
}

std::string text_of(const std::vector<NamedFile>& files) {
  std::string text;
  for (const NamedFile& file : files) text += (text.empty() ? "" : ",") + text_of(file);
  return text;
}

}  // namespace isinglass
