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

  // The value at the number of a site or unit, its two words drawn by these purposes.
  ISINGLASS_HD bool draw(const Draws& draws, Purpose first, Purpose rest, uint32_t site) const {
    const double word = draws.site_word(first, site);
    return certainly_one(word) ||
           (!certainly_zero(word) && one(draws.site_uniform(first, rest, site)));
  }

 private:
  static constexpr double kWord = 1.0 / 4294967296.0;
};

// `count` values by the first words of their numbers, for loops that the compiler turns into
// vectors. Returns whether any of them needs the other word.
template <int count, class Word, class Value>
[[gnu::always_inline]] inline bool draw_by_words(const double* d, const Word* word, Value* value) {
  int64_t open = 0;
  for (int i = 0; i < count; ++i) {
    const BernoulliConditional conditional(d[i]);
    const bool one = conditional.certainly_one(word[i]);
    value[i] = one ? 1 : 0;
    open |= one || conditional.certainly_zero(word[i]) ? 0 : 1;
  }
  return open != 0;
}

}  // namespace isinglass
