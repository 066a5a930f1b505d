// Implements the registry of metrics.
#include "lab/grid/metrics.h"

#include <fmt/ranges.h>

#include "io/error.h"
#include "models/registry.h"

namespace isinglass {

#define ISINGLASS_METRICS(metrics) std::vector<Metric> metrics();
#include "lab/grid/metrics/list.inc"
#undef ISINGLASS_METRICS

const std::vector<Metric>& grid_metrics() {
  static const std::vector<Metric> all = [] {
    std::vector<Metric> entries;
#define ISINGLASS_METRICS(metrics) \
  for (Metric & metric : metrics()) entries.push_back(std::move(metric));
#include "lab/grid/metrics/list.inc"
#undef ISINGLASS_METRICS
    return entries;
  }();
  return all;
}

const Metric& find_metric(const std::string& key, const std::string& where) {
  std::vector<std::string> keys;
  for (const Metric& metric : grid_metrics()) {
    if (metric.key == key) return metric;
    keys.push_back(metric.key);
  }
  fail("{}: unknown metric '{}'; known: {}", where, key, fmt::join(nearest_first(key, keys), ", "));
}

}  // namespace isinglass
