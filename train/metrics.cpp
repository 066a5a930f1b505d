// Implements the metrics of a training iteration.
#include "train/metrics.h"

#include <algorithm>

namespace isinglass {

std::optional<double> Metrics::find(const std::string& name) const {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [&](const auto& metric) { return metric.first == name; });
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

void add_score(Metrics& metrics, const ValidationScore& score) {
  metrics.add("validation_score", score.value);
  metrics.add("validation_weight_ess", score.weight_ess);
  if (score.standard_error) metrics.add("validation_standard_error", *score.standard_error);
}

}  // namespace isinglass
