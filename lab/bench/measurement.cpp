// Implements the measuring rounds and their medians.
#include "lab/bench/measurement.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "engine/run/clock.h"
#include "engine/run/run.h"

namespace isinglass {
namespace {

using Clock = std::chrono::steady_clock;

// A measurement lasts at least this long [s], the stage's own overhead included.
constexpr double kLeastSeconds = 5e-3;
constexpr int64_t kMostCalls = 1000;

}  // namespace

Spread spread_of(std::vector<double> numbers) {
  TORCH_INTERNAL_ASSERT(!numbers.empty());
  std::sort(numbers.begin(), numbers.end());
  const size_t n = numbers.size();
  return {(numbers[(n - 1) / 2] + numbers[n / 2]) / 2, numbers.front(), numbers.back()};
}

std::function<double(int64_t)> timed(torch::Device device, std::function<void()> work) {
  return [device, work = std::move(work)](int64_t calls) {
    const double start = synchronised_seconds(device);
    for (int64_t i = 0; i < calls; ++i) work();
    return synchronised_seconds(device) - start;
  };
}

std::vector<Measurement> measure(const std::vector<Stage>& stages, const MeasurementPlan& plan,
                                 const std::function<void(int64_t)>& on_stage) {
  std::vector<int64_t> calls(stages.size(), 1);
  std::vector<std::vector<double>> times(stages.size());
  int64_t made = 0;
  for (int64_t round = 0; round < plan.warm_up + plan.repeats; ++round) {
    for (size_t i = 0; i < stages.size(); ++i) {
      const auto start = Clock::now();
      const double seconds = stages[i].seconds(calls[i]);
      const double whole = std::chrono::duration<double>(Clock::now() - start).count();
      if (round < plan.warm_up) {
        const double wanted = std::ceil(kLeastSeconds * static_cast<double>(calls[i]) / whole);
        calls[i] = std::clamp<int64_t>(static_cast<int64_t>(wanted), 1, kMostCalls);
      } else {
        times[i].push_back(seconds / static_cast<double>(calls[i]));
      }
      on_stage(++made);
    }
  }
  std::vector<Measurement> results;
  for (size_t i = 0; i < stages.size(); ++i) {
    const Stage& stage = stages[i];
    results.push_back({stage.name, calls[i], spread_of(times[i]), stage.flops, stage.bytes});
  }
  return results;
}

}  // namespace isinglass
