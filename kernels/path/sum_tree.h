// Sums of numbers ≥ 0 as a binary tree: a changed number costs log₂ n additions, and so does
// finding where a running sum passes a target. A node is always the sum of its two children, never
// the old value less something, so that a tree updated leaf by leaf equals one that is built anew,
// bit for bit.
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"

namespace isinglass {

// The least power of two ≥ count: leaves, those behind the last number 0.
ISINGLASS_HD inline int64_t tree_leaves(int64_t count) {
  int64_t leaves = 1;
  while (leaves < count) leaves *= 2;
  return leaves;
}

struct SumTree {
  double* node;  // [2·leaves]: 1 is the root, 2n and 2n + 1 are the children of n, leaves come last
  int64_t leaves;

  ISINGLASS_HD double* leaf() const { return node + leaves; }
  ISINGLASS_HD double total() const { return node[1]; }

  // After leaf i changed.
  ISINGLASS_HD void update(int64_t i) const {
    double sum = node[leaves + i];
    for (int64_t n = leaves + i; n > 1; n /= 2) {
      sum += node[n ^ 1];
      node[n / 2] = sum;
    }
  }

  // The nodes of one level, `width` of them, from those below it: share `lane` of `lanes`.
  ISINGLASS_HD void add_level(int64_t width, int64_t lane, int64_t lanes) const {
    for (int64_t n = width + lane; n < 2 * width; n += lanes) {
      node[n] = node[2 * n] + node[2 * n + 1];
    }
  }
  ISINGLASS_HD void build() const {
    for (int64_t width = leaves / 2; width > 0; width /= 2) add_level(width, 0, 1);
  }

  // The leaf that a target in [0, total) falls in, and what is left of the target there; where
  // rounding leads to an empty leaf, the last one before it that is not, and all of it.
  ISINGLASS_HD int64_t find(double target, double* rest) const {
    int64_t n = 1;
    while (n < leaves) {
      const double left = node[2 * n];
      const bool right = !(target < left);
      target -= right ? left : 0.0;
      n = 2 * n + right;
    }
    *rest = target;
    if (node[n] > 0) return n - leaves;
    while (n > leaves && !(node[n] > 0)) --n;
    *rest = node[n];
    return n - leaves;
  }
};

}  // namespace isinglass
