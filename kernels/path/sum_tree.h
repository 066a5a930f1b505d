// Sums numbers ≥ 0 in a binary tree. Updating one number takes log₂ n additions, and so does
// finding where the running sum exceeds a target. A node is always the sum of its two children and
// never the old value minus something, so that a tree updated leaf by leaf equals one that is built
// anew, bit for bit.
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"

namespace isinglass {

// Returns the number of leaves, the least power of two ≥ count. Leaves beyond the last number are
// 0.
ISINGLASS_HD inline int64_t tree_leaves(int64_t count) {
  int64_t leaves = 1;
  while (leaves < count) leaves *= 2;
  return leaves;
}

struct SumTree {
  // [2·leaves]. Node 1 is the root, 2n and 2n + 1 are the children of n, and the leaves come last.
  double* node;
  int64_t leaves;

  ISINGLASS_HD double* leaf() const { return node + leaves; }
  ISINGLASS_HD double total() const { return node[1]; }

  // Updates the nodes above leaf i after it changed.
  ISINGLASS_HD void update(int64_t i) const {
    double sum = node[leaves + i];
    for (int64_t n = leaves + i; n > 1; n /= 2) {
      sum += node[n ^ 1];
      node[n / 2] = sum;
    }
  }

  // Computes the `width` nodes of one level from those below it; lane `lane` of `lanes` takes its
  // share.
  ISINGLASS_HD void add_level(int64_t width, int64_t lane, int64_t lanes) const {
    for (int64_t n = width + lane; n < 2 * width; n += lanes) {
      node[n] = node[2 * n] + node[2 * n + 1];
    }
  }
  ISINGLASS_HD void build() const {
    for (int64_t width = leaves / 2; width > 0; width /= 2) add_level(width, 0, 1);
  }

  // Returns the leaf that a target in [0, total) falls into, and writes the rest of the target
  // within it. If rounding leads to an empty leaf, returns the last non-empty leaf before it, with
  // its whole value as the rest.
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
