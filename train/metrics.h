// What one training iteration did, and its line in metrics.jsonl.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace isinglass {

// Of a model on validation images; higher is better.
struct ValidationScore {
  double value = 0;
  double weight_ess = 0;     // of the annealing that it rests on
  std::string warning = {};  // why it cannot be compared with others; empty: it can
};

// A line of metrics.jsonl is an object with these names.
struct TrainMetrics {
  int64_t iteration = 0;                     // from 1
  double energy_data = 0, energy_model = 0;  // mean U, before the iteration's Adam step
  double difference = 0;                     // energy_data − energy_model
  double acceptance = 0;                     // mean over chains and steps
  double hops = 0;                           // sites changed per chain and step
  std::optional<double> loss = {};           // without chains: in place of the five before
  double gradient_norm = 0;
  double learning_rate = 0;
  int64_t recoveries = 0;            // so far; not named before the first
  double iterations_per_second = 0;  // of this iteration
  // Of the whole run until this line: evaluations, checkpoints and pictures count, and earlier
  // sittings until their last line.
  double seconds = 0;
  std::optional<ValidationScore> validation = {};  // in iterations that computed it
};

// One JSON object, without the newline; numbers that are not finite are null.
std::string json_line(const TrainMetrics& metrics);

struct LastLine {
  double seconds = 0;
  bool scored = false;
};

// Cuts metrics.jsonl back: keeps the leading whole lines whose iteration is at most `iteration`, so
// that a line which a killed process half wrote goes too. Returns what the last line that is kept
// says. A missing file counts as empty.
LastLine cut_metrics(const std::filesystem::path& file, int64_t iteration);

// Gives the last line the score that its iteration was interrupted at.
void add_score(const std::filesystem::path& file, const ValidationScore& score);

}  // namespace isinglass
