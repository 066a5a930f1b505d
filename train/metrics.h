// What one training iteration did, and its line in metrics.jsonl.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace isinglass {

// A line of metrics.jsonl is an object with these names.
struct TrainMetrics {
  int64_t iteration = 0;                     // from 1
  double energy_data = 0, energy_model = 0;  // mean U, before the iteration's Adam step
  double difference = 0;                     // energy_data − energy_model
  double acceptance = 0;                     // mean over chains and steps
  double hops = 0;                           // sites changed per chain and step
  std::optional<double> score_loss = {};     // of score matching, in place of the five before
  double gradient_norm = 0;
  double learning_rate = 0;
  double iterations_per_second = 0;             // of this iteration
  double seconds = 0;                           // of the whole run, earlier sittings included
  std::optional<double> validation_score = {};  // in iterations that computed it
};

// One JSON object, without the newline; numbers that are not finite are null.
std::string json_line(const TrainMetrics& metrics);

// Cuts metrics.jsonl back: keeps the leading whole lines whose iteration is at most `iteration`, so
// that a line which a killed process half wrote goes too. Returns the seconds of the last line that
// is kept, 0 if there is none. A missing file counts as empty.
double cut_metrics(const std::filesystem::path& file, int64_t iteration);

}  // namespace isinglass
