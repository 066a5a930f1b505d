// Writes TensorBoard event files: scalars, histograms and pictures by name and step.
//
// A file is a sequence of records: length (uint64), masked CRC-32C of these 8 bytes, an Event,
// masked CRC-32C of the Event, all little-endian, with mask(c) = rotate right(c, 15) + 0xa282ead8.
// An Event is a message in the encoding of protocol buffers. The fields used here are, by number:
//
//   Event      1 wall_time (double), 2 step (int64), 3 file_version (string), 5 summary,
//              7 session_log
//   Summary    1 value (repeated): 1 tag (string), 2 simple_value (float), 4 image, 5 histogram
//   Image      1 height, 2 width, 3 colorspace (1: grey), 4 the PNG file
//   SessionLog 1 status (1: START)
//   Histogram  1 min, 2 max, 3 num, 4 sum, 5 sum of squares, 6 upper bucket ends, 7 bucket counts
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace isinglass {

class EventFile {
 public:
  // Creates a new file in the directory, which is created if necessary. The constructor and all
  // functions that write throw Error naming the file and the system's reason.
  explicit EventFile(const std::filesystem::path& folder);

  // Marks the point at which an interrupted run is resumed. TensorBoard then ignores what earlier
  // files, or this one, contain for this step and later ones.
  void start_again(int64_t step);

  void scalars(int64_t step, const std::vector<std::pair<std::string, double>>& values);
  // Writes a histogram of the finite values, with 30 buckets of equal width; nothing if there are
  // none.
  void histogram(int64_t step, const std::string& name, const std::vector<double>& values);
  // Writes a picture, given the bytes of a PNG file with grey levels.
  void picture(int64_t step, const std::string& name, const std::string& png);

  const std::filesystem::path& file() const { return file_; }

 private:
  void write(int64_t step, std::string_view summary);
  void write_record(const std::string& event);

  std::filesystem::path file_;
};

// Returns the CRC-32C, which is the one with the Castagnoli polynomial.
uint32_t crc32c(std::string_view bytes);

}  // namespace isinglass
