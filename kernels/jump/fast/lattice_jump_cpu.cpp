// See lattice_jump.h.
#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/base/blocks.h"
#include "kernels/base/log_product.h"
#include "kernels/jump/binary_rows.h"
#include "kernels/jump/fast/binary_rows_cpu.h"
#include "kernels/jump/fast/lattice_jump.h"
#include "kernels/lattice/fast/chain_lanes_avx512_cpu.h"

namespace isinglass::cpu {
namespace {

#ifdef ISINGLASS_AVX512

// A group's states.
struct JumpLanes {
  const NeighbourhoodTable& neighbourhoods;
  const int32_t* threshold;
  uint8_t *x, *y;
  int32_t hops[kChains16] = {};
  double energy[kChains16] = {};  // of y, beside the constant
};

// flip_threshold() of a site by its value and neighbourhood.
ISINGLASS_AVX512 inline __m512i threshold_of(const JumpLanes& lanes, int64_t site,
                                             __m128i neighbourhood) {
  const int32_t* of_site = lanes.threshold + site * 2 * kNeighbourhoods;
  return _mm512_permutex2var_epi32(_mm512_loadu_si512(of_site), _mm512_cvtepu8_epi32(neighbourhood),
                                   _mm512_loadu_si512(of_site + kNeighbourhoods));
}

// outcome_weight()
ISINGLASS_AVX512 inline __m512i weight_of(__m512i threshold, __mmask16 flipped) {
  const __m512i whole = _mm512_set1_epi32(static_cast<int32_t>(kFlipWhole));
  return _mm512_mask_sub_epi32(threshold, static_cast<__mmask16>(~flipped), whole, threshold);
}

ISINGLASS_AVX512 inline __m512d half_weights(const int32_t* weight) {
  return _mm512_cvtepi32_pd(_mm256_load_si256(reinterpret_cast<const __m256i*>(weight)));
}

// The product of a block's outcome weights in every chain, in the order of fold(). Sites that the
// block lacks count 2^31.
ISINGLASS_AVX512 void multiply(BlockOf<int32_t>& weight, int64_t sites, double* product) {
  constexpr int kPairs = kBlockSites / 2;
  std::fill(weight.row(sites), weight.number + kBlockSites * kChains16, 1);
  const __m512d lacking = _mm512_set1_pd(
      sites == kBlockSites ? 1.0 : std::ldexp(1.0, static_cast<int>(31 * (kBlockSites - sites))));
  for (int half = 0; half < kChains16; half += kHalfLanes) {
    __m512d p[kPairs];
    for (int i = 0; i < kPairs; ++i) {
      p[i] = half_weights(weight.row(i) + half) * half_weights(weight.row(i + kPairs) + half);
    }
    for (int i = 0; i < 8; ++i) p[i] *= p[i + 8];
    for (int i = 0; i < 4; ++i) p[i] *= p[i + 4];
    _mm512_storeu_pd(product + half, p[0] * p[2] * (p[1] * p[3]) * lacking);
  }
}

// y drawn at the sites first … first + sites − 1, a block; the product of their outcome weights.
ISINGLASS_AVX512 void draw_block(JumpLanes& lanes, const BlockOf<uint32_t>& words, int64_t first,
                                 int64_t sites, double* product) {
  BlockOf<int32_t> weight;
  __m512i hops = _mm512_loadu_si512(lanes.hops);
  for (int64_t i = 0; i < sites; ++i) {
    const int64_t site = first + i;
    const __m128i own = values_at(lanes.x, site);
    const __m512i threshold =
        threshold_of(lanes, site, neighbourhood_at(lanes.neighbourhoods, lanes.x, site, own));
    const __m512i bits = _mm512_srli_epi32(_mm512_load_si512(words.row(i)), 1);
    const __mmask16 flipped = _mm512_cmplt_epi32_mask(bits, threshold);
    _mm512_store_si512(weight.row(i), weight_of(threshold, flipped));
    hops = _mm512_mask_add_epi32(hops, flipped, hops, _mm512_set1_epi32(1));
    set_values(lanes.y, site, _mm_xor_si128(own, _mm_maskz_set1_epi8(flipped, 1)));
  }
  _mm512_storeu_si512(lanes.hops, hops);
  multiply(weight, sites, product);
}

// The way back from y, and the sites' part of U(y).
ISINGLASS_AVX512 void score_block(JumpLanes& lanes, int64_t first, int64_t sites, double* product) {
  BlockOf<int32_t> weight;
  DoubleLanes energy;
  for (int64_t i = 0; i < sites; ++i) {
    const int64_t site = first + i;
    const __m128i own = values_at(lanes.y, site);
    const __m128i neighbourhood = neighbourhood_at(lanes.neighbourhoods, lanes.y, site, own);
    const __m512i threshold = threshold_of(lanes, site, neighbourhood);
    const __mmask16 flipped = _mm_cmpneq_epi8_mask(own, values_at(lanes.x, site));
    _mm512_store_si512(weight.row(i), weight_of(threshold, flipped));
    const __mmask16 up = _mm_test_epi8_mask(own, own);
    add(look_up(lanes.neighbourhoods.half_flip + site * kNeighbourhoods, neighbourhood), up,
        static_cast<__mmask16>(~up), energy);
  }
  alignas(64) double of_block[kChains16];
  store(energy, of_block);
  for (int l = 0; l < kChains16; ++l) lanes.energy[l] += of_block[l];
  multiply(weight, sites, product);
}

// A group's part of a step, a block of sites after the other.
class JumpGroup {
 public:
  ISINGLASS_AVX512 JumpGroup(const LatticeJumpStep& step, int64_t number, uint8_t* states)
      : step_(step),
        sites_(step.neighbourhoods.sites),
        chains_(number, step.shape.chains, nullptr, step.rng, step.chain_ids, 0, step.x, sites_),
        numbers_(chains_.draws, Purpose::kSiteValue),
        lanes_{step.neighbourhoods, step.threshold, states, states + (sites_ + 1) * kChains16} {
    fill_lanes(chains_.state, sites_, lanes_.x);
    set_values(lanes_.y, sites_, _mm_setzero_si128());
  }

  ISINGLASS_AVX512 void draw(int64_t block) {
    BlockOf<uint32_t> words;
    double product[kChains16];
    numbers_.fill(block, words);
    draw_block(lanes_, words, block * kBlockSites, size(block), product);
    multiply_in(product, forward_);
  }

  ISINGLASS_AVX512 void score(int64_t block) {
    double product[kChains16];
    score_block(lanes_, block * kBlockSites, size(block), product);
    multiply_in(product, backward_);
  }

  // The Metropolis test of every chain.
  ISINGLASS_AVX512 void decide() {
    unsigned taken = 0;
    for (int64_t l = 0; l < chains_.count; ++l) {
      const int64_t chain = chains_.chain[l];
      const double proposed = step_.neighbourhoods.constant + lanes_.energy[l];
      const double forward = forward_[l].log(), backward = backward_[l].log();
      double* energy = step_.energy + chain;
      const ProposalScores scores{energy, &proposed, &forward, &backward, step_.unadjusted};
      const Verdict verdict = metropolis(scores, 0, chains_.draws[l].uniform(Purpose::kAccept));
      count_verdict(step_.counts, chain, verdict, verdict.accept ? lanes_.hops[l] : 0);
      if (!verdict.accept) continue;
      *energy = proposed;
      taken |= 1u << l;
    }
    store_lanes(lanes_.y, static_cast<__mmask16>(taken), sites_, chains_.state);
  }

 private:
  int64_t size(int64_t block) const {
    return std::min<int64_t>(kBlockSites, sites_ - block * kBlockSites);
  }
  ISINGLASS_AVX512 static void multiply_in(const double* product, LogProduct* log_q) {
    for (int l = 0; l < kChains16; ++l) log_q[l].multiply(block_probability(product[l]));
  }

  const LatticeJumpStep& step_;
  int64_t sites_;
  LaneGroup chains_;
  BlockNumbers numbers_;
  JumpLanes lanes_;
  LogProduct forward_[kChains16], backward_[kChains16];
};

void jump_groups(const LatticeJumpStep& step, int64_t first, int64_t end) {
  const int64_t sites = step.neighbourhoods.sites, state = (sites + 1) * kChains16;
  uint8_t* states = lane_states(2 * kLaneGroups, sites);
  std::optional<JumpGroup> groups[kLaneGroups];
  for (int64_t g = first; g < end; ++g) {
    groups[g - first].emplace(step, g, states + 2 * (g - first) * state);
  }
  for (int64_t block = 0; block < site_blocks(sites); ++block) {
    for (int64_t g = 0; g < end - first; ++g) groups[g]->draw(block);
  }
  for (int64_t block = 0; block < site_blocks(sites); ++block) {
    for (int64_t g = 0; g < end - first; ++g) groups[g]->score(block);
  }
  for (int64_t g = 0; g < end - first; ++g) groups[g]->decide();
}

#endif

}  // namespace

void find_thresholds(const JumpShape& shape, const NeighbourhoodTable& neighbourhoods, double scale,
                     int32_t* threshold) {
  constexpr int kNumbers = 2 * kNeighbourhoods, kSites = kFlipTile / kNumbers;
  const BinaryJumpParameters jump(shape, scale);
#pragma omp parallel for schedule(static) if (parallel_pays(neighbourhoods.sites * kNumbers))
  for (int64_t first = 0; first < neighbourhoods.sites; first += kSites) {
    const auto count = std::min<int64_t>(kSites, neighbourhoods.sites - first) * kNumbers;
    float d[kFlipTile] = {};
    int32_t found[kFlipTile];
    for (int64_t i = 0; i < count; ++i) {
      const int64_t site = first + i / kNumbers, value = i / kNeighbourhoods % 2;
      d[i] = flip_difference(neighbourhoods.gradient[site * kNeighbourhoods + i % kNeighbourhoods],
                             static_cast<int>(value));
    }
    flip_thresholds(jump, d, found);
    std::copy_n(found, count, threshold + first * kNumbers);
  }
}

#ifdef ISINGLASS_AVX512
void lattice_jump_step(const LatticeJumpStep& step) {
  for_lane_groups(step.shape.chains, 1, step.shape.sites,
                  [&](int64_t first, int64_t end) { jump_groups(step, first, end); });
}
#else  // no lattice has a neighbourhood table
void lattice_jump_step(const LatticeJumpStep&) {}
#endif

}  // namespace isinglass::cpu
