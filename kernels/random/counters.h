// A counter (philox.h) has 32 bits for the number of the chain and for that of the step: beyond
// them the same random numbers would come again, without a word.
#pragma once

#include <cstdint>

namespace isinglass {

inline constexpr int64_t kLargestCounter = 0xFFFFFFFF;  // of steps and of chains, from 0

// Returns whether steps 0 … count·each − 1, or as many chains, have numbers of their own.
constexpr bool has_counters(int64_t count, int64_t each = 1) {
  return count <= kLargestCounter / each;
}

}  // namespace isinglass
