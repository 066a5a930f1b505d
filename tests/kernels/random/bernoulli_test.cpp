// Draws by float32 against the exact ones, at the words around every threshold.
#include "kernels/random/bernoulli.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace isinglass {
namespace {

constexpr int kCount = 32;
constexpr double kWords = 4294967296.0;

// The word below which a value is 0.
double threshold(double d) {
  const BernoulliConditional conditional(d);
  return conditional.zero / conditional.total * kWords;
}

// A draw that counts as certain is right for any number that starts with this word.
template <class Number>
void expect_right_where_certain(Number d, uint32_t word) {
  Number same[kCount];
  uint32_t words[kCount];
  int64_t value[kCount];
  std::fill_n(same, kCount, d);
  std::fill_n(words, kCount, word);
  if (draw_by_words<kCount>(same, words, value)) return;
  const BernoulliConditional conditional(d);
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
    for (double away = 1; away < kWords; away *= 1.5) {
      for (const double sign : {-1.0, 1.0}) {
        const double word = std::floor(threshold(d) + sign * away);
        const auto whole = static_cast<uint32_t>(std::clamp(word, 0.0, kWords - 1));
        expect_right_where_certain(d, whole);
        expect_right_where_certain(static_cast<float>(d), whole);
      }
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
}  // namespace isinglass
