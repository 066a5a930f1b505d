// Products of which units of an RBM are on with a matrix in tiles (CPU), for many chains. The sixteen
// sums that the rows of four units can have are found once for all chains and looked up by each (the
// method of Arlazarov, Dinic, Kronrod and Faradzhev 1970): an addition for four rows. Tables of as
// many fours as fit into a core's first cache serve panels of chains, whose sums stay in registers.
// Fours that no chain of a panel has a unit of on are left out, as where images are always black.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/rbm/rbm_gibbs.h"

namespace isinglass::cpu {

constexpr int kSums = 1 << kRowGroup;             // of the rows of four units
constexpr int kTableSize = kSums * kTileColumns;  // numbers of a four's sums
constexpr int64_t kTables = 16;      // fours whose sums are in the first cache together
constexpr int kPanel = 8;            // chains whose sums are in registers
constexpr int64_t kPartPanels = 32;  // that share tables, at most
static_assert(kTables * kTableSize <= 1 << 16, "places have 16 bits");
static_assert(kTables <= 1 << 8, "fours within a block have 8 bits");

// Which of every four units are on in each chain, as a place in the tables of a block of fours; and
// which fours have a unit on at all.
class ActiveUnits {
 public:
  void resize(int64_t chains, int64_t units) {
    groups_ = row_groups(units);
    blocks_ = (groups_ + kTables - 1) / kTables;
    panels_ = (chains + kPanel - 1) / kPanel;
    place_.resize(static_cast<std::size_t>(panels_ * groups_ * kPanel));
    used_.resize(static_cast<std::size_t>(panels_ * groups_));
    end_.resize(static_cast<std::size_t>(panels_ * (blocks_ + 1)));
    for (int64_t c = chains; c < panels_ * kPanel; ++c) clear(c);  // the last panel reaches over
  }
  int64_t groups() const { return groups_; }
  int64_t panels() const { return panels_; }

  // Sets `size` units from `first`, a multiple of four, to `on`; those behind the last are off.
  void set(int64_t chain, int64_t first, const uint8_t* on, int64_t size) {
    const int64_t begin = first / kRowGroup, count = row_groups(size);
    uint16_t* own = places(chain) + begin * kPanel;
    for (int64_t n = 0; n < count; ++n) {
      uint32_t four;  // bytes of 0 or 1, which the product puts side by side
      std::memcpy(&four, on + n * kRowGroup, sizeof four);
      const uint32_t sum = (four * 0x01020408 >> 24) % kSums;
      own[n * kPanel] = static_cast<uint16_t>(table_of(begin + n) + sum * kTileColumns);
    }
  }
  void clear(int64_t chain) {
    uint16_t* own = places(chain);
    for (int64_t n = 0; n < groups_; ++n) own[n * kPanel] = table_of(n);
  }
  void add(int64_t chain, int64_t unit) {
    places(chain)[unit / kRowGroup * kPanel] +=
        static_cast<uint16_t>(kTileColumns << unit % kRowGroup);
  }

  // Lists the fours that have a unit on in a chain of the panel: the others add nothing.
  void list(int64_t panel) {
    constexpr unsigned kOn = (kSums - 1) * kTileColumns;
    const uint16_t* own = places(panel * kPanel);
    uint8_t* used = used_.data() + panel * groups_;
    int64_t* end = ends(panel);
    int64_t count = 0;
    for (int64_t n = 0; n < groups_; ++n) {
      if (n % kTables == 0) *end++ = count;
      unsigned any = 0;
      for (int l = 0; l < kPanel; ++l) any |= own[n * kPanel + l];
      used[count] = static_cast<uint8_t>(n % kTables);
      count += (any & kOn) != 0;
    }
    *end = count;
  }
  // The places of a block's fours in the chains of a panel, [fours, 8].
  const uint16_t* block_places(int64_t p, int64_t block) const {
    return place_.data() + (p * groups_ + block * kTables) * kPanel;
  }
  // A block's part of a panel's list: fours counted from the block's first one.
  const uint8_t* used(int64_t p, int64_t block) const {
    return used_.data() + p * groups_ + end_[p * (blocks_ + 1) + block];
  }
  int64_t used_count(int64_t p, int64_t block) const {
    const int64_t* end = end_.data() + p * (blocks_ + 1) + block;
    return end[1] - end[0];
  }

 private:
  static uint16_t table_of(int64_t group) {
    return static_cast<uint16_t>(group % kTables * kTableSize);
  }
  uint16_t* places(int64_t chain) {
    return place_.data() + chain / kPanel * groups_ * kPanel + chain % kPanel;
  }
  int64_t* ends(int64_t panel) { return end_.data() + panel * (blocks_ + 1); }

  int64_t groups_ = 0, blocks_ = 0, panels_ = 0;
  std::vector<uint16_t> place_;  // [panels, groups, 8]
  std::vector<uint8_t> used_;    // [panels, groups]: fours in ascending order, within their blocks
  std::vector<int64_t> end_;     // [panels, blocks + 1]: where a block's begin in that list
};

// The columns of tile t of out [chains, columns], for the chains of the panels first … end − 1, at
// most kPartPanels, when all are listed.
void multiply(const ActiveUnits&, int64_t first, int64_t end, int64_t chains, const TiledMatrix&,
              int64_t t, float* out);
void multiply(const ActiveUnits&, int64_t first, int64_t end, int64_t chains, const TiledMatrix&,
              int64_t t, double* out);

}  // namespace isinglass::cpu
