// Implements the tests for diverging training runs.
#include "train/divergence.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "io/error.h"

namespace isinglass {
namespace {

constexpr int64_t kSkippedInARow = 10;
constexpr int64_t kIterationsApart = 100;
constexpr size_t kBefore = 2000;
constexpr double kLargestDrift = 5;        // in units of r
constexpr double kUnremarkable = 1. / 50;  // nats per site
constexpr size_t kStuck = 50, kMovedBefore = 400;
constexpr double kLeastShare = 1. / 5;  // fraction of the earlier acceptance
constexpr double kStays = 0.8;          // autocorrelation
constexpr double kAlike = 1. / 5;       // spread
constexpr int64_t kReportsInARow = 2;
constexpr int64_t kAtEnd = 10;        // iterations
constexpr double kHardlyMoves = .99;  // acceptance
constexpr double kGrownApart = 2;     // times |d| of the earliest iterations
constexpr double kGrownLoss = 10;     // times the first loss

// Appends a value and keeps at most the latest `most` values.
void push(std::deque<double>& values, double value, size_t most) {
  values.push_back(value);
  if (values.size() > most) values.pop_front();
}

torch::Tensor tensor_of(const std::deque<double>& values) {
  return torch::tensor(std::vector<double>(values.begin(), values.end()), torch::kFloat64);
}

std::deque<double> numbers_of(const torch::Tensor& tensor) {
  const torch::Tensor values = tensor.contiguous();
  const double* first = values.const_data_ptr<double>();
  return {first, first + values.numel()};
}

// Returns the mean of |value| over kAtEnd values.
double mean_size(std::deque<double>::const_iterator first) {
  const auto add = [](double sum, double value) { return sum + std::abs(value) / kAtEnd; };
  return std::accumulate(first, first + kAtEnd, 0.0, add);
}

}  // namespace

void Divergence::check(double difference, std::optional<double> acceptance) {
  check_apart(difference);
  push(differences_, difference, kBefore + kSuspectStretch);
  check_drift();
  if (!acceptance) return;
  push(acceptances_, *acceptance, kMovedBefore + kStuck);
  check_stuck();
}

std::string Divergence::check_autocorrelation(double autocorrelation) {
  stay_in_a_row_ = autocorrelation >= kStays ? stay_in_a_row_ + 1 : 0;
  if (stay_in_a_row_ != kReportsInARow) return "";
  return fmt::format(
      "the chains stay where they are: the correlation of their energies with those a thousand "
      "steps earlier is {:.2f}, and was {:g} or more the time before; tempered chains or more "
      "steps per iteration may help",
      autocorrelation, kStays);
}

std::string Divergence::check_spread(double spread) {
  alike_in_a_row_ = spread < kAlike ? alike_in_a_row_ + 1 : 0;
  if (alike_in_a_row_ != kReportsInARow) return "";
  return fmt::format(
      "the chains are nearly all alike: two of them differ in {:.2g} times as many sites as two "
      "training images, and the time before in less than {:g} times as many; tempered chains or "
      "more steps per iteration may help",
      spread, kAlike);
}

void Divergence::add_loss(double loss) {
  losses_.push_back(loss);
  if (std::ssize(losses_) > 1 + kAtEnd) losses_.erase(losses_.begin() + 1);
}

std::string Divergence::at_end() const {
  constexpr const char* kRemedy =
      "a lower learning rate may help, and docs/howto/training-diverges.md names more remedies";
  if (apart_ >= kAtEnd && std::ssize(differences_) >= 2 * kAtEnd &&
      mean_size(differences_.end() - kAtEnd) >= kGrownApart * mean_size(differences_.begin())) {
    return fmt::format(
        "training ended while it diverged: the mean energies of data and chains differ by {:.4g}, "
        "and by more than {} (one nat per site) in each of the last {} iterations; {}",
        differences_.back(), sites_, apart_, kRemedy);
  }
  if (std::ssize(losses_) > kAtEnd) {
    // A loss that may be negative falls as its size grows, so that its sign counts.
    const double first = losses_.front();
    const double now = std::accumulate(losses_.end() - kAtEnd, losses_.end(), 0.0) / kAtEnd;
    if (now > 0 && now >= kGrownLoss * std::abs(first)) {
      return fmt::format(
          "training ended while it diverged: the mean loss of the last {} iterations is {:.4g}, "
          "and the first loss was {:.4g}; {}",
          kAtEnd, now, first, kRemedy);
    }
  }
  return "";
}

std::string Divergence::small_steps(const Scale& step_size) const {
  if (acceptances_.size() < kStuck) return "";
  const double mean =
      std::accumulate(acceptances_.end() - kStuck, acceptances_.end(), 0.0) / kStuck;
  if (!(mean > kHardlyMoves)) return "";
  return fmt::format(
      "; the step size is too small: with `{}` {:g} the mean acceptance of the last {} iterations "
      "is {:.4f}",
      step_size.name, step_size.initial, kStuck, mean);
}

void Divergence::skipped(const std::string& reason) {
  if (++skipped_in_a_row_ < kSkippedInARow) return;
  throw NumericalError(
      fmt::format("{}, and {} iterations in a row made no update", reason, skipped_in_a_row_));
}

void Divergence::check_apart(double difference) {
  apart_ = std::abs(difference) > sites_ ? apart_ + 1 : 0;
  if (apart_ < kIterationsApart) return;
  throw NumericalError(
      fmt::format("the mean energies of data and chains differ by {:.4g}, and by more than {} "
                  "for {} iterations in a row",
                  difference, sites_, apart_));
}

void Divergence::check_drift() const {
  if (differences_.size() < kBefore + kSuspectStretch) return;
  const auto last = differences_.begin() + kBefore;
  const double mean = std::accumulate(last, differences_.end(), 0.0) / kSuspectStretch;
  const double spread = std::sqrt(
      std::inner_product(differences_.begin(), last, differences_.begin(), 0.0) / kBefore);
  if (std::abs(mean) <= kLargestDrift * spread || std::abs(mean) <= kUnremarkable * sites_) return;
  throw NumericalError(fmt::format(
      "the mean energies of data and chains drift apart: the mean of their difference is {:.4g} "
      "over the last {} iterations, and its root mean square was {:.4g} over the {} before",
      mean, kSuspectStretch, spread, kBefore));
}

void Divergence::check_stuck() const {
  if (acceptances_.size() < kMovedBefore + kStuck) return;
  const auto last = acceptances_.begin() + kMovedBefore;
  const double now = std::accumulate(last, acceptances_.end(), 0.0) / kStuck;
  std::vector<double> earlier(acceptances_.begin(), last);
  const auto middle = earlier.begin() + kMovedBefore / 2;
  std::nth_element(earlier.begin(), middle, earlier.end());
  const double before = *middle;
  if (now >= kLeastShare * before) return;
  throw NumericalError(
      fmt::format("the chains are stuck: their mean acceptance is {:.2g} over the last {} "
                  "iterations, and its median was {:.2g} over the {} before",
                  now, kStuck, before, kMovedBefore));
}

Divergence::Memory Divergence::memory() const {
  return {apart_,         tensor_of(differences_), tensor_of(acceptances_), skipped_in_a_row_,
          stay_in_a_row_, alike_in_a_row_,         tensor_of(losses_)};
}

void Divergence::restore(const Memory& memory) {
  apart_ = memory.iterations_apart;
  skipped_in_a_row_ = memory.skipped_in_a_row;
  stay_in_a_row_ = memory.stay_in_a_row;
  alike_in_a_row_ = memory.alike_in_a_row;
  differences_ = numbers_of(memory.differences);
  acceptances_ = numbers_of(memory.acceptances);
  losses_ = numbers_of(memory.losses);
}

}  // namespace isinglass
