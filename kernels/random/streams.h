// Steps draw by the same purposes (philox.h) whoever makes them; streams keep the chains of
// training, annealing and sampling apart that have one seed: each stream has keys of its own.
#pragma once

#include <cstdint>

namespace isinglass {

enum class RandomStream : uint64_t {
  kSampling = 0,  // its key is the seed itself
  kTraining,      // the replay buffer and its chains
  kAnnealing,     // of an evaluation
  kValidation,    // annealing between training iterations
  kReference,     // chains that others are compared with
  kTempering,     // of an evaluation
  kCount,
};

// Streams of one seed have different keys, and of any seeds below 2^60.
constexpr uint64_t stream_key(uint64_t seed, RandomStream stream) {
  return seed + (static_cast<uint64_t>(stream) << 60);
}
static_assert(static_cast<uint64_t>(RandomStream::kCount) <= 16, "four bits number them");

}  // namespace isinglass
