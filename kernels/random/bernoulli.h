// Draws one binary value, of a site or of a hidden unit: from its exact conditional distribution
// (heat bath), or by a Metropolis test of its flip. With d = U(value 1) − U(value 0),
//
//   heat bath   P(1) = 1/(1 + e^d)
//   Metropolis  P(flip) = min(1, e^−δ),  δ = d if the present value is 0, −d if it is 1
//
// Both leave the conditional distribution as it is (Metropolis et al. 1953). Metropolis flips more
// often, and always if δ ≤ 0.
//
// The value is 1 if u·(w_0 + w_1) ≥ w_0, where w_k is the weight of value k (for a Metropolis test
// its probability) and u is uniform in [0, 1). u has 64 random bits. The first 32 bits nearly
// always decide the value; the other 32 are drawn only if they are needed.
#pragma once

#include <cstdint>

#include "kernels/base/elementary.h"
#include "kernels/base/host_device.h"
#include "kernels/random/philox.h"

namespace isinglass {

// Says how a binary site takes its next value.
enum class SiteRule : uint8_t { kHeatBath, kMetropolis };

// Return e^−|d|, the smaller weight of the two values. |d| is clamped where e^−|d| is already below
// every u that can be drawn, and in float32 below every rounding error.
ISINGLASS_HD inline double smaller_weight(double d) {
  const double size = d < 0 ? -d : d;
  return elementary::exp_within(size < 700 ? -size : -700.0);
}
ISINGLASS_HD inline float smaller_weight(float d) {
  const float size = d < 0 ? -d : d;
  return elementary::exp_within(size < 80 ? -size : -80.0f);
}

// Returns the weight of the value 0 in a Metropolis test, in which u decides alone: the probability
// of 0, or a number above every u if 0 is certain.
template <class Number>
ISINGLASS_HD inline Number metropolis_zero(Number d, bool from_one) {
  const Number least = smaller_weight(d), never = 0, always = 2;
  return from_one ? (d < 0 ? least : always) : (d > 0 ? 1 - least : never);
}

// Holds the weights of the values 0 and 1. In a heat bath the larger one is 1; a Metropolis test
// depends on the present value.
struct BernoulliConditional {
  double zero, total;

  ISINGLASS_HD explicit BernoulliConditional(double d) {
    const double least = smaller_weight(d);
    zero = d > 0 ? 1.0 : least;
    total = 1 + least;
  }
  ISINGLASS_HD BernoulliConditional(double d, bool from_one)
      : zero(metropolis_zero(d, from_one)), total(1) {}

  // Returns true if the value at quantile u is 1.
  ISINGLASS_HD bool one(double u) const { return u * total >= zero; }
  // Return true if the value is 1 (or 0) for every u whose first 32 bits are `word`.
  ISINGLASS_HD bool certainly_one(double word) const { return one(word * kWord); }
  ISINGLASS_HD bool certainly_zero(double word) const { return !one((word + 1) * kWord); }

  // Returns the value for the u whose first 32 bits are `word`. rest() returns the other 32 bits,
  // and is called only if they decide.
  template <class Rest>
  ISINGLASS_HD bool draw(uint32_t word, Rest rest) const {
    return certainly_one(word) || (!certainly_zero(word) && one(uniform_from_words(word, rest())));
  }
  // Returns the value of a site or hidden unit. The two halves of its u are drawn with the purposes
  // `first` and `rest`.
  ISINGLASS_HD bool draw(const PhiloxStream& draws, Purpose first, Purpose rest,
                         uint32_t site) const {
    return draw(draws.site_word(first, site), [&] { return draws.site_word(rest, site); });
  }

 private:
  static constexpr double kWord = 1.0 / 4294967296.0;
};

// word_margin() returns u·(w_0 + w_1) − w_0 in float32, from the first 32 bits of u. If its size
// exceeds kDrawMargin, its sign gives the value; otherwise the float64 draw() must decide. The
// rounding error is below 1e-6. It consists of 3e-7 of the exponential, twice; of 2^−24·|d|·e^−|d|
// from d; and of 2^−24 each from the word, of which 24 bits are used, and from the products.
constexpr float kDrawMargin = 4e-6f;

ISINGLASS_HD inline float word_uniform(uint32_t word) {
  constexpr float kUnit = 1.0f / 16777216;  // This is the spacing of 24-bit uniforms.
  return static_cast<float>(static_cast<int32_t>(word >> 8)) * kUnit;
}

ISINGLASS_HD inline float word_margin(float d, uint32_t word) {
  const float least = smaller_weight(d);
  const float zero = d > 0 ? 1.0f : least;
  return word_uniform(word) * (1 + least) - zero;
}

ISINGLASS_HD inline float word_margin(float d, bool from_one, uint32_t word) {
  return word_uniform(word) - metropolis_zero(d, from_one);
}

// Return BernoulliConditional(d).draw(word, rest), or that of (d, from_one), computed in float32
// where that is certain.
template <class Rest>
ISINGLASS_HD inline bool draw_by_word(double d, uint32_t word, Rest rest) {
  const float above = word_margin(static_cast<float>(d), word);
  if (above > kDrawMargin) return true;
  if (above < -kDrawMargin) return false;
  return BernoulliConditional(d).draw(word, rest);
}

template <class Rest>
ISINGLASS_HD inline bool draw_by_word(double d, bool from_one, uint32_t word, Rest rest) {
  const float above = word_margin(static_cast<float>(d), from_one, word);
  if (above > kDrawMargin) return true;
  if (above < -kDrawMargin) return false;
  return BernoulliConditional(d, from_one).draw(word, rest);
}

// Draws `count` values in float32, in loops that the compiler vectorises. margin(i, d) returns the
// word_margin() of value i. Returns true if any of the values is uncertain and must be drawn again
// in float64.
template <int count, class Number, class Value, class Margin>
[[gnu::always_inline]] inline bool draw_by_margins(const Number* d, Value* value,
                                                   const Margin& margin) {
  float of_site[count];
  int32_t one[count], open = 0;
  for (int i = 0; i < count; ++i) of_site[i] = static_cast<float>(d[i]);
  for (int i = 0; i < count; ++i) {
    const float above = margin(i, of_site[i]);
    one[i] = above > 0 ? 1 : 0;
    open |= above > kDrawMargin || above < -kDrawMargin ? 0 : 1;
  }
  for (int i = 0; i < count; ++i) value[i] = static_cast<Value>(one[i]);
  return open != 0;
}

// Draw `count` values as draw_by_word() does, by a heat bath or by Metropolis tests. There the
// present value is 1 if from[i] > 0.
template <int count, class Number, class Word, class Value>
[[gnu::always_inline]] inline bool draw_by_words(const Number* d, const Word* word, Value* value) {
  return draw_by_margins<count>(d, value, [&](int i, float of_site) __attribute__((always_inline)) {
    return word_margin(of_site, static_cast<uint32_t>(word[i]));
  });
}

template <int count, class Number, class Word, class Value>
[[gnu::always_inline]] inline bool draw_by_words(const Number* d, const Number* from,
                                                 const Word* word, Value* value) {
  int32_t from_one[count];
  for (int i = 0; i < count; ++i) from_one[i] = from[i] > 0;
  return draw_by_margins<count>(d, value, [&](int i, float of_site) __attribute__((always_inline)) {
    return word_margin(of_site, from_one[i] != 0, static_cast<uint32_t>(word[i]));
  });
}

}  // namespace isinglass
