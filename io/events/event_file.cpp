// Implements the encoding of events and records.
#include "io/events/event_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>

#include "io/error.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kBuckets = 30;

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
  return bytes += static_cast<char>(value);
}

// Encode a field of a message: its number and wire type, followed by the value.
std::string field(int number, uint64_t value) {
  return varint(number << 3) + varint(value);
}

template <class Number>
std::string little_endian(Number value) {
  static_assert(std::endian::native == std::endian::little);
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::string field(int number, double value) {
  return varint(number << 3 | 1) + little_endian(value);
}

std::string field(int number, float value) {
  return varint(number << 3 | 5) + little_endian(value);
}

std::string field(int number, std::string_view bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}

std::string packed(const std::vector<double>& values) {
  std::string bytes;
  for (const double value : values) bytes += little_endian(value);
  return bytes;
}

// Encodes a value of a summary: its tag and the field `content`.
std::string named_value(const std::string& name, const std::string& content) {
  return field(1, std::string_view(field(1, std::string_view(name)) + content));
}

uint32_t masked_crc(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8u;
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Reads a number from the header of a PNG file, where width and height are big-endian.
uint64_t big_endian(const std::string& png, size_t at) {
  uint64_t value = 0;
  for (size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<uint8_t>(png[i]);
  return value;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> made = {};
    for (uint32_t i = 0; i < 256; ++i) {
      made[i] = i;
      for (int bit = 0; bit < 8; ++bit) made[i] = made[i] >> 1 ^ (made[i] & 1 ? 0x82f63b78u : 0);
    }
    return made;
  }();
  uint32_t crc = ~0u;
  for (const char byte : bytes) crc = crc >> 8 ^ table[(crc ^ static_cast<uint8_t>(byte)) & 255];
  return ~crc;
}

EventFile::EventFile(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  require(!error, "cannot make the directory {}: {}", folder.string(), error.message());
  std::array<char, 256> host = {};
  gethostname(host.data(), host.size() - 1);
  file_ = folder / fmt::format("events.out.tfevents.{}.{}.{}", static_cast<int64_t>(now()),
                               host.data(), getpid());
  write_record(field(1, now()) + field(3, std::string_view("brain.Event:2")));
}

void EventFile::write_record(const std::string& event) {
  const std::string length = little_endian(static_cast<uint64_t>(event.size()));
  std::ofstream out(file_, std::ios::app | std::ios::binary);
  out << length << little_endian(masked_crc(length)) << event << little_endian(masked_crc(event))
      << std::flush;
  require(out.good(), "cannot write {}: {}", file_.string(), std::strerror(errno));
}

void EventFile::write(int64_t step, std::string_view summary) {
  write_record(field(1, now()) + field(2, static_cast<uint64_t>(step)) + field(5, summary));
}

void EventFile::start_again(int64_t step) {
  write_record(field(1, now()) + field(2, static_cast<uint64_t>(step)) +
               field(7, std::string_view(field(1, uint64_t{1}))));
}

void EventFile::scalars(int64_t step, const std::vector<std::pair<std::string, double>>& values) {
  std::string summary;
  for (const auto& [name, value] : values) {
    summary += named_value(name, field(2, static_cast<float>(value)));
  }
  write(step, summary);
}

void EventFile::histogram(int64_t step, const std::string& name,
                          const std::vector<double>& values) {
  std::vector<double> finite;
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite),
               [](double value) { return std::isfinite(value); });
  if (finite.empty()) return;
  const auto [least, most] = std::minmax_element(finite.begin(), finite.end());
  const double low = *least, high = *most;
  const double width = (high - low) / kBuckets;
  std::vector<double> ends(kBuckets), counts(kBuckets);
  for (int64_t i = 0; i < kBuckets; ++i) ends[i] = low + width * static_cast<double>(i + 1);
  ends.back() = high;
  double sum = 0, squares = 0;
  for (const double value : finite) {
    const double place = width > 0 ? (value - low) / width : 0;
    ++counts[std::min<int64_t>(static_cast<int64_t>(place), kBuckets - 1)];
    sum += value;
    squares += value * value;
  }
  const std::string histogram = field(1, low) + field(2, high) +
                                field(3, static_cast<double>(finite.size())) + field(4, sum) +
                                field(5, squares) + field(6, std::string_view(packed(ends))) +
                                field(7, std::string_view(packed(counts)));
  write(step, named_value(name, field(5, std::string_view(histogram))));
}

void EventFile::picture(int64_t step, const std::string& name, const std::string& png) {
  require(png.size() > 24, "a picture for {} is not a PNG file", file_.string());
  const std::string image = field(1, big_endian(png, 20)) + field(2, big_endian(png, 16)) +
                            field(3, uint64_t{1}) + field(4, std::string_view(png));
  write(step, named_value(name, field(4, std::string_view(image))));
}

}  // namespace isinglass
