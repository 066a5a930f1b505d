// One binary value from its exact conditional: a site's, or a hidden unit's.
//
//   P(1) = 1/(1 + e^d),  d = U(value 1) − U(value 0): the value is 1 where u·total ≥ weight of 0
//
// The first 32 bits of a site's number decide nearly always; the other 32 are drawn only where they
// do.
#pragma once

#include <cstdint>

#include "kernels/base/elementary.h"
#include "kernels/base/host_device.h"
#include "kernels/random/philox.h"

namespace isinglass {

// The weights of 0 and 1, the larger one 1. Beyond |d| = 700 the smaller one is below every number
// that could be drawn.
struct BernoulliConditional {
  double zero, total;

  ISINGLASS_HD explicit BernoulliConditional(double d) {
    const double size = d < 0 ? -d : d;
    const double least = elementary::exp_within(size < 700 ? -size : -700.0);
    zero = d > 0 ? 1.0 : least;
    total = 1 + least;
  }

  // Whether the value at quantile u is 1.
  ISINGLASS_HD bool one(double u) const { return u * total >= zero; }
  // Whether it is 1 (or 0) at every number whose first word this is.
  ISINGLASS_HD bool certainly_one(double word) const { return one(word * kWord); }
  ISINGLASS_HD bool certainly_zero(double word) const { return !one((word + 1) * kWord); }

  // The value at a number of this first word; rest() is the second, asked for where it decides.
  template <class Rest>
  ISINGLASS_HD bool draw(uint32_t word, Rest rest) const {
    return certainly_one(word) || (!certainly_zero(word) && one(uniform_from_words(word, rest())));
  }
  // The value at the number of a site or unit, its two words drawn by these purposes.
  ISINGLASS_HD bool draw(const Draws& draws, Purpose first, Purpose rest, uint32_t site) const {
    return draw(draws.site_word(first, site), [&] { return draws.site_word(rest, site); });
  }

 private:
  static constexpr double kWord = 1.0 / 4294967296.0;
};

// What u·total is above the weight of 0, in float32, of a number's first word: beyond kDrawMargin
// its sign is the value, closer draw() decides. What rounding adds is below 1e-6: 3e-7 of the
// exponential, twice; of d 2^−24·|d|·e^−|d|; 2^−24 each of the word, of which 24 bits are taken, and
// of the products.
constexpr float kDrawMargin = 4e-6f;

ISINGLASS_HD inline float word_margin(float d, uint32_t word) {
  constexpr float kUnit = 1.0f / 16777216;  // of 24 bits
  const float size = d < 0 ? -d : d;
  const float least = elementary::exp_within(size < 80 ? -size : -80.0f);
  const float zero = d > 0 ? 1.0f : least;
  const float u = static_cast<float>(static_cast<int32_t>(word >> 8)) * kUnit;
  return u * (1 + least) - zero;
}

// draw() at d, in float32 where that is certain.
template <class Rest>
ISINGLASS_HD inline bool draw_by_word(double d, uint32_t word, Rest rest) {
  const float above = word_margin(static_cast<float>(d), word);
  if (above > kDrawMargin) return true;
  if (above < -kDrawMargin) return false;
  return BernoulliConditional(d).draw(word, rest);
}

// `count` values, for loops that the compiler turns into vectors. Returns whether any of them is
// not certain.
template <int count, class Number, class Word, class Value>
[[gnu::always_inline]] inline bool draw_by_words(const Number* d, const Word* word, Value* value) {
  float of_site[count];
  int32_t one[count], open = 0;
  for (int i = 0; i < count; ++i) of_site[i] = static_cast<float>(d[i]);
  for (int i = 0; i < count; ++i) {
    const float above = word_margin(of_site[i], static_cast<uint32_t>(word[i]));
    one[i] = above > 0 ? 1 : 0;
    open |= above > kDrawMargin || above < -kDrawMargin ? 0 : 1;
  }
  for (int i = 0; i < count; ++i) value[i] = static_cast<Value>(one[i]);
  return open != 0;
}

}  // namespace isinglass
