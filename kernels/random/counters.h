// Bounds the chain and step numbers. A Philox counter (philox.h) has 32 bits for each; larger
// numbers would silently repeat the same random numbers.
#pragma once

#include <cstdint>

namespace isinglass {

// This is the largest chain or step number; both start at 0.
inline constexpr int64_t kLargestCounter = 0xFFFFFFFF;

// Returns true if the steps 0 … count·each − 1, or as many chains, have distinct 32-bit numbers.
constexpr bool has_counters(int64_t count, int64_t each = 1) {
  return count <= kLargestCounter / each;
}

}  // namespace isinglass
