// Computes philox4x32() for many counters at once (CPU), for steps that draw at every site.
#pragma once

#include <cstdint>

#include "kernels/random/philox.h"

namespace isinglass::cpu {

// Writes word [4, count]: the four words of the counters (chain[i], step, purpose, first +
// position[i]) with key `seed`. count is a multiple of 8.
void philox_words(uint64_t seed, uint32_t step, Purpose purpose, int count, const uint32_t* chain,
                  const uint32_t* position, uint32_t first, uint32_t* word);

// site_words() writes draws.site_word(purpose, first + i) for i < kWordTile; first is a multiple of
// 32.
constexpr int kWordTile = 128;
void site_words(const PhiloxStream& draws, Purpose purpose, uint32_t first, uint32_t* word);

}  // namespace isinglass::cpu
