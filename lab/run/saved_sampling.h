// A run of sampling that is saved on its way, in its directory:
//
//   draws/NNNNNNNN.pt     the draws up to that number, from the file before on: `samples`, `energy`,
//                         … (engine/observers/recorder.h)
//   sample-checkpoint.pt  where it stands, beside them
//
// A file of draws is whole before the checkpoint that counts them. Both go when the results are written.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>

#include "engine/observers/step_recorder.h"
#include "lab/run/sampling.h"

namespace isinglass {

class SavedSampling : public RunSaver {
 public:
  // Every so many seconds (0: only when the run is stopped). All outlive this object; moves: null
  // for none. on_saved is told on rank 0.
  SavedSampling(Sampling& sampling, Recorder& recorder, StepRecorder* moves,
                std::filesystem::path directory, double seconds, const Ranks& ranks,
                std::function<void(const RunProgress&)> on_saved);

  static bool exists(const std::filesystem::path& directory);

  // Goes on from what the directory holds. Throws Error if that is of another run, or damaged.
  void restore();
  bool due() override;
  void save(const RunProgress& progress) override;
  void remove() const;  // on rank 0

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
  int64_t draws_ = 0;  // in files
};

}  // namespace isinglass
