// Gives each use of a seed its own Philox key. Steps draw with the same purposes (philox.h) in
// training, annealing and sampling; different keys keep the chains of these apart when they have
// the same seed.
#pragma once

#include <cstdint>

namespace isinglass {

enum class RandomStream : uint64_t {
  kSampling = 0,  // The key of this stream is the seed itself.
  kTraining,      // Serves the replay buffer and its chains.
  kAnnealing,     // Serves annealing in an evaluation.
  kValidation,    // Serves annealing between training iterations.
  kReference,     // Serves chains that others are compared with.
  kTempering,     // Serves tempering in an evaluation.
  kMissing,       // Serves the missing values of training images.
  kCount,
};

// Returns the key of a stream. Keys differ between the streams of one seed, and between any seeds
// below 2^60.
constexpr uint64_t stream_key(uint64_t seed, RandomStream stream) {
  return seed + (static_cast<uint64_t>(stream) << 60);
}
static_assert(static_cast<uint64_t>(RandomStream::kCount) <= 8, "three bits number them");

// A step may contain moves that draw with the same purposes as the step itself. Each of them has a
// key of its own: that of the step with these bits flipped. These keys differ from those of all
// streams, and between any seeds below 2^48.
inline constexpr uint64_t kInnerKeys = 1 << 12;
constexpr uint64_t inner_key_bits(uint64_t number) {
  return (uint64_t{1} << 63) | (number % kInnerKeys) << 48;
}

}  // namespace isinglass
