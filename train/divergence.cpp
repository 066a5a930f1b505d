// See divergence.h.
#include "train/divergence.h"

#include <cmath>
#include <numeric>
#include <vector>

#include "io/error.h"

namespace isinglass {
namespace {

constexpr int64_t kIterationsApart = 100;
constexpr size_t kBefore = 2000;
constexpr double kLargestDrift = 5;        // in units of r
constexpr double kUnremarkable = 1. / 50;  // nats per site

}  // namespace

void Divergence::check(double difference) {
  apart_ = std::abs(difference) > sites_ ? apart_ + 1 : 0;
  if (apart_ >= kIterationsApart) {
    throw NumericalError(
        fmt::format("the mean energies of data and chains differ by {:.4g}, and by more than {} "
                    "for {} iterations in a row",
                    difference, sites_, apart_));
  }
  differences_.push_back(difference);
  if (differences_.size() > kBefore + kSuspectStretch) differences_.pop_front();
  if (differences_.size() < kBefore + kSuspectStretch) return;
  const auto last = differences_.begin() + kBefore;
  const double mean = std::accumulate(last, differences_.end(), 0.0) / kSuspectStretch;
  const double spread = std::sqrt(
      std::inner_product(differences_.begin(), last, differences_.begin(), 0.0) / kBefore);
  if (std::abs(mean) > kLargestDrift * spread && std::abs(mean) > kUnremarkable * sites_) {
    throw NumericalError(
        fmt::format("the mean energies of data and chains drift apart: their difference is {:.4g} "
                    "over the last {} iterations, and was {:.4g} (root mean square) over the {} "
                    "before",
                    mean, kSuspectStretch, spread, kBefore));
  }
}

torch::Tensor Divergence::differences() const {
  const std::vector<double> values(differences_.begin(), differences_.end());
  return torch::tensor(values, torch::kFloat64);
}

void Divergence::restore(int64_t iterations_apart, const torch::Tensor& differences) {
  apart_ = iterations_apart;
  const torch::Tensor values = differences.contiguous();
  const double* first = values.data_ptr<double>();
  differences_.assign(first, first + values.numel());
}

}  // namespace isinglass
