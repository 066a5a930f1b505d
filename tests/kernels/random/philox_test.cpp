// Philox against the known answers published with the Random123 library (kat_vectors, philox4x32
// 10).
#include "kernels/random/philox.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "kernels/random/fast/philox_cpu.h"
#include "tests/kernels/instruction_sets.h"

namespace isinglass::philox_test {
namespace {

struct KnownAnswer {
  uint32_t counter[4];
  uint32_t key[2];
  uint32_t word[4];
};

TEST(Philox, KnownAnswers) {
  const KnownAnswer answers[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const KnownAnswer& a : answers) {
    const uint64_t seed = static_cast<uint64_t>(a.key[1]) << 32 | a.key[0];
    const Philox4x32 r = philox4x32(seed, a.counter[0], a.counter[1], a.counter[2], a.counter[3]);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(r.word[i], a.word[i]);
  }
}

TEST(Philox, UniformIsInTheHalfOpenInterval) {
  EXPECT_EQ(uniform_from_words(0, 0), 0.0);
  EXPECT_LT(uniform_from_words(0xffffffff, 0xffffffff), 1.0);
  EXPECT_EQ(uniform_from_words(0x80000000, 0), 0.5);
}

// Every purpose, chain, step and position that a run uses has a counter of its own.
TEST(Philox, NoTwoUsesShareACounter) {
  const Purpose purposes[] = {
      Purpose::kAccept,       Purpose::kLength,         Purpose::kSite,      Purpose::kValue,
      Purpose::kInitialState, Purpose::kBinarise,       Purpose::kDataOrder, Purpose::kSlots,
      Purpose::kReinitialise, Purpose::kReinitialState, Purpose::kBootstrap, Purpose::kStrokes,
      Purpose::kSplit,        Purpose::kDataInit,       Purpose::kNoise,     Purpose::kInstance,
      Purpose::kSiteValue,    Purpose::kSiteValueRest,  Purpose::kHidden,    Purpose::kHiddenRest,
      Purpose::kPoints,       Purpose::kSwap,           Purpose::kReference};
  std::set<uint32_t> distinct;
  for (const Purpose p : purposes) distinct.insert(static_cast<uint32_t>(p));
  EXPECT_EQ(distinct.size(), std::size(purposes));

  std::set<double> draws;
  size_t count = 0;
  for (const Purpose purpose : purposes) {
    for (uint32_t chain = 0; chain < 4; ++chain) {
      for (uint32_t step = 0; step < 4; ++step) {
        for (uint32_t position = 0; position < 4; ++position, ++count) {
          draws.insert(PhiloxStream{99, chain, step}.uniform(purpose, position));
        }
      }
    }
  }
  EXPECT_EQ(draws.size(), count);
}

// Four numbers a call, no number twice.
TEST(Philox, SitesHaveNumbersOfTheirOwn) {
  constexpr uint32_t kSites = 1000;
  const PhiloxStream draws{99, 1, 2};
  std::set<double> seen;
  for (uint32_t i = 0; i < kSites; ++i)
    seen.insert(draws.site_uniform(Purpose::kSiteValue, Purpose::kSiteValueRest, i));
  EXPECT_EQ(seen.size(), kSites);
}

void expect_words_of_single_counters() {
  constexpr uint64_t kSeed = 0xfedcba9876543210;
  constexpr uint32_t kStep = 0x80000001, kFirst = 0xfffffff0;  // positions wrap
  for (const int count : {8, 24, 32, 128, 136}) {
    std::vector<uint32_t> chain(count), position(count), word(4 * count);
    for (int i = 0; i < count; ++i) {
      chain[i] = 0xffffffff - static_cast<uint32_t>(i % 16);
      position[i] = static_cast<uint32_t>(i / 4);
    }
    cpu::philox_words(kSeed, kStep, Purpose::kHidden, count, chain.data(), position.data(), kFirst,
                      word.data());
    for (int i = 0; i < count; ++i) {
      const Philox4x32 one = philox4x32(
          kSeed, chain[i], kStep, static_cast<uint32_t>(Purpose::kHidden), kFirst + position[i]);
      for (int k = 0; k < 4; ++k) EXPECT_EQ(word[k * count + i], one.word[k]) << count << " " << i;
    }
  }
}

TEST(Philox, ManyCountersAtOnce) {
  in_every_instruction_set(expect_words_of_single_counters);
}

TEST(Philox, IntegersBelowAreUniform) {
  constexpr int kBins = 7, kDraws = 70000;
  std::map<uint32_t, int> counts;
  for (uint32_t i = 0; i < kDraws; ++i)
    ++counts[PhiloxStream{1, i, 0}.below(kBins, Purpose::kSite)];
  double chi_square = 0;
  for (uint32_t b = 0; b < kBins; ++b) {
    const double expected = static_cast<double>(kDraws) / kBins;
    chi_square += (counts[b] - expected) * (counts[b] - expected) / expected;
  }
  EXPECT_LT(chi_square, 33);  // 6 degrees of freedom: exceeded with probability 1e-5
}

}  // namespace
}  // namespace isinglass::philox_test
