// Streams of random numbers: no two of one seed have a key in common.
#include "kernels/random/streams.h"

#include <gtest/gtest.h>

#include <set>

namespace isinglass::streams_test {
namespace {

constexpr auto kStreams = static_cast<uint64_t>(RandomStream::kCount);

TEST(Streams, NoTwoShareAKey) {
  std::set<uint64_t> keys;
  size_t count = 0;
  for (const uint64_t seed :
       {uint64_t{0}, uint64_t{1}, uint64_t{1234567}, (uint64_t{1} << 60) - 1}) {
    for (uint64_t stream = 0; stream < kStreams; ++stream, ++count) {
      keys.insert(stream_key(seed, static_cast<RandomStream>(stream)));
    }
  }
  EXPECT_EQ(keys.size(), count);
  for (const uint64_t seed : {uint64_t{1} << 60, ~uint64_t{0} >> 1}) {
    std::set<uint64_t> own;
    for (uint64_t stream = 0; stream < kStreams; ++stream) {
      own.insert(stream_key(seed, static_cast<RandomStream>(stream)));
    }
    EXPECT_EQ(own.size(), kStreams) << seed;
  }
}

TEST(Streams, InnerMovesHaveKeysOfTheirOwn) {
  std::set<uint64_t> keys;
  size_t count = 0;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, (uint64_t{1} << 48) - 1}) {
    for (uint64_t stream = 0; stream < kStreams; ++stream) {
      const uint64_t key = stream_key(seed, static_cast<RandomStream>(stream));
      keys.insert(key);
      for (uint64_t number = 0; number < kInnerKeys; ++number) {
        keys.insert(key ^ inner_key_bits(number));
      }
      count += 1 + kInnerKeys;
    }
  }
  EXPECT_EQ(keys.size(), count);
}

TEST(Streams, SamplingHasTheSeedItself) {
  EXPECT_EQ(stream_key(42, RandomStream::kSampling), 42u);
}

}  // namespace
}  // namespace isinglass::streams_test
