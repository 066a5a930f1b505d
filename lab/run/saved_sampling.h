// Saves a run of sampling on its way, in the run's directory:
//
//   draws/NNNNNNNN.pt     the draws up to that number, from the number of the file before on:
//                         `samples`, `energy`, … (engine/observers/recorder.h)
//   sample-checkpoint.pt  the state of the run
//
// A file of draws is complete before the checkpoint that counts its draws is written. Both are
// removed when the results have been written.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>

#include "engine/observers/step_recorder.h"
#include "lab/run/sampling.h"

namespace isinglass {

class SavedSampling : public RunSaver {
 public:
  // Saves every `seconds` seconds; 0: only when the run is stopped. The arguments must outlive this
  // object. `moves` may be null. on_saved is called on rank 0.
  SavedSampling(Sampling& sampling, Recorder& recorder, StepRecorder* moves,
                std::filesystem::path directory, double seconds, const Ranks& ranks,
                std::function<void(const RunProgress&)> on_saved);

  static bool exists(const std::filesystem::path& directory);

  // Continues from what the directory holds. Throws Error if that belongs to another run or is
  // damaged.
  void restore();
  bool due() override;
  void save(const RunProgress& progress) override;
  void remove() const;  // Only rank 0 calls it.

 private:
  using Clock = std::chrono::steady_clock;

  std::filesystem::path draws_file(int64_t draws) const;

  Sampling& sampling_;
  Recorder& recorder_;
  StepRecorder* moves_;
  std::filesystem::path directory_;
  double seconds_;
  const Ranks& ranks_;
  std::function<void(const RunProgress&)> on_saved_;
  Clock::time_point saved_ = Clock::now();
  int64_t draws_ = 0;  // Counts the draws in files.
};

}  // namespace isinglass
