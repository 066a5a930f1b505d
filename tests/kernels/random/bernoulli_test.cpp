// Draws by float32 against the exact ones, at the words around every threshold.
#include "kernels/random/bernoulli.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace isinglass::bernoulli_test {
namespace {

constexpr int kCount = 32;
constexpr double kWords = 4294967296.0;

// The present value of a Metropolis test, or that there is none.
enum class From { kNone, kZero, kOne };

BernoulliConditional conditional_of(double d, From from) {
  return from == From::kNone ? BernoulliConditional(d)
                             : BernoulliConditional(d, from == From::kOne);
}

// The word below which a value is 0.
double threshold(double d, From from) {
  const BernoulliConditional conditional = conditional_of(d, from);
  return conditional.zero / conditional.total * kWords;
}

// A draw that counts as certain is right for any number that starts with this word.
template <class Number>
void expect_right_where_certain(Number d, From from, uint32_t word) {
  Number same[kCount], values[kCount];
  uint32_t words[kCount];
  int64_t value[kCount];
  std::fill_n(same, kCount, d);
  std::fill_n(values, kCount, from == From::kOne ? Number{1} : Number{0});
  std::fill_n(words, kCount, word);
  if (from == From::kNone ? draw_by_words<kCount>(same, words, value)
                          : draw_by_words<kCount>(same, values, words, value)) {
    return;
  }
  const BernoulliConditional conditional = conditional_of(d, from);
  const bool one = conditional.certainly_one(word);
  EXPECT_TRUE(one || conditional.certainly_zero(word)) << d << " " << word;
  for (const int64_t v : value) EXPECT_EQ(v, one ? 1 : 0) << d << " " << word;
}

TEST(Bernoulli, DrawsByWordsAreRightWhereTheyAreCertain) {
  std::vector<double> differences = {0,  -0.0, 1e-9, -1e-9, 1e-40, 79.9, -79.9, 80.1,
                                     87, -88,  699,  701,   -701,  1e30, -1e30};
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 3000; ++i) {
    differences.push_back(normal(random) * std::exp(2 * normal(random)));
  }
  for (const double d : differences) {
    for (const From from : {From::kNone, From::kZero, From::kOne}) {
      for (double away = 1; away < kWords; away *= 1.5) {
        for (const double sign : {-1.0, 1.0}) {
          const double word = std::floor(threshold(d, from) + sign * away);
          const auto whole = static_cast<uint32_t>(std::clamp(word, 0.0, kWords - 1));
          expect_right_where_certain(d, from, whole);
          expect_right_where_certain(static_cast<float>(d), from, whole);
        }
      }
    }
  }
}

// A value flips with probability min(1, e^−δ), and surely if the energy does not rise.
TEST(Bernoulli, MetropolisTestsHaveTheirProbabilities) {
  for (const double change : {-800.0, -3.0, -1e-9, 0.0, 1e-9, 0.5, 3.0, 30.0, 800.0}) {
    const double flips = std::min(1.0, std::exp(-change));
    const BernoulliConditional to_one(change, false), to_zero(-change, true);
    EXPECT_NEAR(1 - std::clamp(to_one.zero, 0.0, 1.0), flips, 1e-15) << change;
    EXPECT_NEAR(std::clamp(to_zero.zero, 0.0, 1.0), flips, 1e-15) << change;
    if (change > 0) continue;
    for (const double u : {0.0, 0.5, 1 - 0x1p-53}) {
      EXPECT_TRUE(to_one.one(u)) << change;
      EXPECT_FALSE(to_zero.one(u)) << change;
    }
  }
}

// The margin makes the draws right, and it is small.
TEST(Bernoulli, FewDrawsAreUncertain) {
  constexpr int kDraws = 100000;
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  double d[1];
  int64_t value[1];
  int open = 0;
  for (int i = 0; i < kDraws; ++i) {
    d[0] = 2 * normal(random);
    const uint32_t word[1] = {static_cast<uint32_t>(random())};
    open += draw_by_words<1>(d, word, value);
  }
  EXPECT_LT(open, 20);  // 2·margin/total of them, at most .8 on average
}

}  // namespace
}  // namespace isinglass::bernoulli_test
