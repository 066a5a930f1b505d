// Implements fill_normals(): Philox and the Box–Muller transform of many calls at once in vectors
// (CPU).
#include "kernels/random/fast/normal_rows_cpu.h"

#include "kernels/base/vectors_cpu.h"
#include "kernels/random/fast/philox_cpu.h"

namespace isinglass::cpu {
namespace {

constexpr int kCalls = kNormalTile / 2;

// Transforms word [4, calls] into number [2·calls], in the order of the sites.
ISINGLASS_FLAT_CLONES void box_muller_all(const uint32_t* word, int calls, double* number) {
  double u1[kCalls], u2[kCalls];
  for (int n = 0; n < calls; ++n) {
    u1[n] = uniform_from_words(word[n], word[calls + n]);
    u2[n] = uniform_from_words(word[2 * calls + n], word[3 * calls + n]);
  }
  for (int block = 0; block < calls; block += kBlockCalls) {
    for (int n = 0; n < kBlockCalls; ++n) {
      const NormalPair pair = box_muller(u1[block + n], u2[block + n]);
      number[2 * block + n] = pair.number[0];
      number[2 * block + kBlockCalls + n] = pair.number[1];
    }
  }
}

}  // namespace

void fill_normals(const PhiloxStream& draws, Purpose purpose, int64_t first, int count,
                  double* number) {
  uint32_t chain[kCalls] = {}, position[kCalls] = {}, word[4 * kCalls];
  const int calls = count / 2;
  for (int n = 0; n < calls; ++n) {
    chain[n] = draws.chain;
    position[n] = static_cast<uint32_t>(n);
  }
  philox_words(draws.seed, draws.step, purpose, calls, chain, position,
               static_cast<uint32_t>(first / 2), word);
  box_muller_all(word, calls, number);
}

}  // namespace isinglass::cpu
