// Implements log_row_sum() for several instruction sets, with each balancing function a constant of
// its loop.
#include "kernels/path/fast/row_weights_cpu.h"

#include <cmath>

#include "kernels/base/categorical_cpu.h"
#include "kernels/base/vectors_cpu.h"

namespace isinglass::cpu {
namespace {

// g is a template argument, so that it is a constant in the loop.
template <Balancing g, class Weights>
[[gnu::always_inline]] inline void fill(Weights weights, int64_t site, int from,
                                        double* log_weight) {
  weights.balancing = g;
  for (int k = 0; k < weights.values; ++k) log_weight[k] = weights.log_weight(site, from, k);
}

template <class Weights>
[[gnu::always_inline]] inline void fill(const Weights& weights, int64_t site, int from,
                                        double* log_weight) {
  switch (weights.balancing) {
    case Balancing::kSqrt:
      return fill<Balancing::kSqrt>(weights, site, from, log_weight);
    case Balancing::kBarker:
      return fill<Balancing::kBarker>(weights, site, from, log_weight);
    case Balancing::kMin:
      return fill<Balancing::kMin>(weights, site, from, log_weight);
    case Balancing::kMax:
      return fill<Balancing::kMax>(weights, site, from, log_weight);
  }
}

template <class Weights>
[[gnu::always_inline]] inline double log_row_sum_of(const Weights& weights, int64_t site,
                                                    int from) {
  const auto moves = [&](double* log_weight) {
    fill(weights, site, from, log_weight);
    log_weight[from] = -INFINITY;
  };
  return WrittenCategorical(weights.values, moves).log_sum();
}

ISINGLASS_FLAT_CLONES double categorical(const CategoricalGradientWeights& weights, int64_t site,
                                         int from) {
  return log_row_sum_of(weights, site, from);
}
ISINGLASS_FLAT_CLONES double ordered(const OrderedGradientWeights& weights, int64_t site,
                                     int from) {
  return log_row_sum_of(weights, site, from);
}
ISINGLASS_FLAT_CLONES double exact(const ExactValueWeights& weights, int64_t site, int from) {
  return log_row_sum_of(weights, site, from);
}

template <class Weights>
double few_or(double (*many)(const Weights&, int64_t, int), const Weights& weights, int64_t site,
              int from) {
  return weights.values <= WrittenCategorical::kFewValues ? weights.log_site_weight(site, from)
                                                          : many(weights, site, from);
}

}  // namespace

double log_row_sum(const CategoricalGradientWeights& weights, int64_t site, int from) {
  return few_or(categorical, weights, site, from);
}
double log_row_sum(const OrderedGradientWeights& weights, int64_t site, int from) {
  return few_or(ordered, weights, site, from);
}
double log_row_sum(const ExactValueWeights& weights, int64_t site, int from) {
  return few_or(exact, weights, site, from);
}

}  // namespace isinglass::cpu
