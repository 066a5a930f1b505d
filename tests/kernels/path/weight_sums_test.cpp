// Sums that samplers share: sums of logarithms by products, sums of weights by a tree, and the sums
// of the weights of a chain.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "kernels/base/log_product.h"
#include "kernels/path/sum_tree.h"
#include "kernels/path/weight_sums_cpu.h"

namespace isinglass::weight_sums_test {
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

// Makes changes of the sites of a chain one after the other, and returns what is drawn after them:
// the scale and the sum of all weights, and the sites at some quantiles. A change gives the site
// another value, or removes it from the pool. If `at_once`, the sums are built after the changes of
// values, and only the removals are made one by one.
template <class Weights>
std::vector<double> drawn_after(const Weights& weights, int64_t sites, int values, int changes,
                                bool removes, bool at_once) {
  std::mt19937 random(4);
  std::vector<uint8_t> x(sites);
  for (uint8_t& value : x) value = static_cast<uint8_t>(random() % values);
  std::vector<std::pair<int64_t, uint8_t>> made;
  for (int n = 0; n < changes; ++n) {
    made.emplace_back(random() % sites, static_cast<uint8_t>(random() % values));
  }
  if (at_once && !removes) {
    for (const auto& [site, value] : made) x[site] = value;
  } else if (at_once) {
    std::reverse(made.begin(), made.end());
  }
  std::vector<double> scratch(sums_scratch(sites));
  cpu::WeightSums sums(weights, x.data(), sites, scratch.data(),
                       removed_in(scratch.data(), sites, removes));
  for (const auto& [site, value] : made) {
    if (removes) {
      sums.remove(site);
    } else if (!at_once) {
      x[site] = value;
      sums.update(site);
    }
  }
  std::vector<double> drawn = {sums.scale(), sums.sum()};
  for (double u = 0.003; u < 1; u += 0.01) {
    drawn.push_back(static_cast<double>(sums.draw_site(sums.locate(u))));
  }
  return drawn;
}

// Sites that change one by one leave the sums as they are if computed for the last state, also when
// the scales of blocks change, because the weights of some sites are far above all others.
TEST(WeightSums, UpdatedEqualBuilt) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 4);
  for (const int64_t sites : {1, 31, 32, 33, 70, 97, 128, 300}) {
    constexpr int kValues = 5;
    std::vector<float> slope(sites * kValues);
    for (float& number : slope) number = (random() % 40 == 0 ? 100 : 1) * normal(random);
    for (const auto balancing : {Balancing::kSqrt, Balancing::kBarker}) {
      const BinaryGradientWeights flips{{slope.data(), balancing}};
      const CategoricalGradientWeights rows{{slope.data(), balancing, kValues}};
      for (const int changes : {1, 2, 5, 40, 200}) {
        for (const bool removes : {false, true}) {
          if (removes && changes >= sites) continue;  // The pool would be empty.
          EXPECT_EQ(drawn_after(flips, sites, 2, changes, removes, false),
                    drawn_after(flips, sites, 2, changes, removes, true))
              << sites << " sites, " << changes << " changes, removed: " << removes;
          EXPECT_EQ(drawn_after(rows, sites, kValues, changes, removes, false),
                    drawn_after(rows, sites, kValues, changes, removes, true))
              << sites << " sites, " << changes << " changes, removed: " << removes;
        }
      }
    }
  }
}

}  // namespace
}  // namespace isinglass::weight_sums_test
