// Implements flip_weights(), flip_sums() and scaled_weights() in loops that the compiler
// vectorises.
#include "kernels/path/fast/block_weights_cpu.h"

#include <cmath>

#include "kernels/base/differences.h"
#include "kernels/base/vectors_cpu.h"
#include "kernels/path/move_weights.h"

namespace isinglass::cpu {
namespace {

// This many sites at a time keep the vector units busy.
constexpr int kTileBlocks = 4, kTile = kTileBlocks * kBlockSites;

// g is a template argument, so that it is a constant in the loop.
template <Balancing g, int kSites>
[[gnu::always_inline]] inline void fill_log_balances(const float* d, double* log_weight) {
  for (int i = 0; i < kSites; ++i) log_weight[i] = log_balance(g, d[i]);
}

template <int kSites>
[[gnu::always_inline]] inline void fill_log_balances(Balancing g, const float* d,
                                                     double* log_weight) {
  switch (g) {
    case Balancing::kSqrt:
      return fill_log_balances<Balancing::kSqrt, kSites>(d, log_weight);
    case Balancing::kBarker:
      return fill_log_balances<Balancing::kBarker, kSites>(d, log_weight);
    case Balancing::kMin:
      return fill_log_balances<Balancing::kMin, kSites>(d, log_weight);
    case Balancing::kMax:
      return fill_log_balances<Balancing::kMax, kSites>(d, log_weight);
  }
}

// Writes the weights of the flips in kBlocks blocks, their logarithms and the blocks' scales. Sites
// from `count` on are missing and have weight 0.
template <int kBlocks>
[[gnu::always_inline]] inline void weigh(Balancing g, const float* gradient, const uint8_t* values,
                                         int64_t count, uint32_t removed, float beta, double* scale,
                                         double* weight, double* log_weight) {
  constexpr int kSites = kBlocks * kBlockSites;
  const Padded<float, kSites> slope(gradient, count);
  const Padded<uint8_t, kSites> from(values, count);
  float d[kSites];
  for (int i = 0; i < kSites; ++i) d[i] = flip_difference(beta * slope.whole[i], from.whole[i]);
  fill_log_balances<kSites>(g, d, log_weight);
  for (int64_t i = count; i < kSites; ++i) log_weight[i] = -INFINITY;
  for (; removed != 0; removed &= removed - 1) log_weight[__builtin_ctz(removed)] = -INFINITY;
  for (int b = 0; b < kBlocks; ++b) {
    scale[b] = block_scale(tree_max(log_weight + b * kBlockSites));
  }
  for (int b = 0; b < kBlocks; ++b) {
    const double own = scale[b];
    for (int i = b * kBlockSites; i < (b + 1) * kBlockSites; ++i) {
      weight[i] = scaled_weight(log_weight[i], own);
    }
  }
}

// Writes what flip_sums() writes of the kBlocks blocks from site `first` on.
template <int kBlocks>
[[gnu::always_inline]] inline void sum_blocks(Balancing g, const float* gradient,
                                              const uint8_t* values, int64_t sites, int64_t first,
                                              float beta, const SiteWeights& written) {
  const int64_t block = first / kBlockSites;
  double* weight = written.weight + first;
  weigh<kBlocks>(g, gradient + first, values + first, sites - first, 0, beta, written.scale + block,
                 weight, written.log_weight + first);
  for (int b = 0; b < kBlocks; ++b) written.sum[block + b] = tree_sum(weight + b * kBlockSites);
}

}  // namespace

ISINGLASS_VECTOR_CLONES
double flip_weights(Balancing g, const float* gradient, const uint8_t* values, int64_t count,
                    uint32_t removed, double* weight, float beta) {
  double scale, log_weight[kBlockSites];
  weigh<1>(g, gradient, values, count, removed, beta, &scale, weight, log_weight);
  return scale;
}

ISINGLASS_VECTOR_CLONES
void flip_sums(Balancing g, const float* gradient, const uint8_t* values, int64_t sites,
               const SiteWeights& written, float beta) {
  int64_t first = 0;
  for (; first + kTile <= sites; first += kTile) {
    sum_blocks<kTileBlocks>(g, gradient, values, sites, first, beta, written);
  }
  switch (site_blocks(sites - first)) {
    case 1:
      return sum_blocks<1>(g, gradient, values, sites, first, beta, written);
    case 2:
      return sum_blocks<2>(g, gradient, values, sites, first, beta, written);
    case 3:
      return sum_blocks<3>(g, gradient, values, sites, first, beta, written);
    case kTileBlocks:
      return sum_blocks<kTileBlocks>(g, gradient, values, sites, first, beta, written);
  }
}

ISINGLASS_VECTOR_CLONES
void scaled_weights(const double* log_weight, double scale, double* weight) {
  for (int i = 0; i < kBlockSites; ++i) weight[i] = scaled_weight(log_weight[i], scale);
}

}  // namespace isinglass::cpu
