// Sums that samplers share: sums of logarithms by products, and sums of weights by a tree.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/base/log_product.h"
#include "kernels/path/sum_tree.h"

namespace isinglass {
namespace {

TEST(LogProduct, AddsLogarithmsOfAnyNumbers) {
  LogProduct product;
  double expected = 0;
  for (const double p : {1e-280, 1e-200, 0.5, 1e-289, 1.0, 1e250, 1e300, 3e299, 1e-305}) {
    product.multiply(p);
    expected += std::log(p);
  }
  product.add(-900);
  EXPECT_NEAR(product.log() / (expected - 900), 1, 1e-14);
  product.multiply(std::nan(""));
  EXPECT_TRUE(std::isnan(product.log()));
}

struct Tree {
  std::vector<double> nodes;
  SumTree tree;

  explicit Tree(const std::vector<double>& numbers)
      : nodes(2 * tree_leaves(static_cast<int64_t>(numbers.size()))),
        tree{nodes.data(), tree_leaves(static_cast<int64_t>(numbers.size()))} {
    std::copy(numbers.begin(), numbers.end(), tree.leaf());
    tree.build();
  }
};

std::vector<double> numbers(int64_t count) {
  std::vector<double> v;
  for (int64_t i = 0; i < count; ++i) v.push_back(i % 3 == 1 ? 0 : std::exp(3 * std::sin(1.7 * i)));
  return v;
}

TEST(SumTree, UpdatedEqualsBuilt) {
  for (const int64_t count : {1, 2, 3, 31, 32, 33, 79}) {
    std::vector<double> v = numbers(count);
    Tree updated(v);
    for (int64_t step = 0; step < 100; ++step) {
      const int64_t i = step * 7 % count;
      v[i] = std::exp(std::cos(0.3 * step));
      updated.tree.leaf()[i] = v[i];
      updated.tree.update(i);
      ASSERT_EQ(updated.tree.total(), Tree(v).tree.total()) << count << " numbers, step " << step;
    }
  }
}

TEST(SumTree, FindsWhereARunningSumPasses) {
  for (const int64_t count : {1, 2, 5, 32, 79}) {
    const std::vector<double> v = numbers(count);
    const Tree sums(v);
    double before = 0;
    for (int64_t i = 0; i < count; ++i) {
      for (const double share : {0.001, 0.5, 0.999}) {
        if (v[i] == 0) continue;
        double rest;
        EXPECT_EQ(sums.tree.find(before + share * v[i], &rest), i);
        EXPECT_NEAR(rest, share * v[i], 1e-12 * sums.tree.total());
      }
      before += v[i];
    }
  }
}

// By rounding, a target may exceed the sum of all numbers.
TEST(SumTree, NeverFindsAnEmptyLeaf) {
  const Tree sums({0, 2, 0, 3, 0});
  double rest;
  for (const double target : {5.0, 7.0, static_cast<double>(INFINITY)}) {
    EXPECT_EQ(sums.tree.find(target, &rest), 3);
    EXPECT_EQ(rest, 3);
  }
  EXPECT_EQ(sums.tree.find(0, &rest), 1);
  EXPECT_EQ(rest, 0);
}

}  // namespace
}  // namespace isinglass
