// Multiplies the states of an RBM's units (on or off) by a tiled matrix, for many chains (CPU).
// Units are taken in groups of four. The sixteen sums that a group's rows can have are computed
// once for all chains and looked up by each chain (the method of Arlazarov, Dinic, Kronrod and
// Faradzhev 1970), which takes one addition for four rows. The tables of as many groups as fit into
// a core's first-level cache serve panels of chains, whose sums stay in registers. Groups of which
// no chain of a panel has a unit on are skipped, as happens where images are always black.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/rbm/rbm_gibbs.h"

namespace isinglass::cpu {

constexpr int kSums = 1 << kRowGroup;             // A group's rows have this many sums.
constexpr int kTableSize = kSums * kTileColumns;  // A group's table has this many numbers.
// The tables of this many groups are in the first-level cache together; they form a block.
constexpr int64_t kTables = 16;
// The sums of this many chains are in registers together; they form a panel.
constexpr int kPanel = 8;
constexpr int64_t kPartPanels = 32;  // At most this many panels share tables.
static_assert(kTables * kTableSize <= 1 << 16, "places have 16 bits");
static_assert(kTables <= 1 << 8, "fours within a block have 8 bits");

// Stores which units of every group are on in each chain, as a position in the tables of a block of
// groups, and lists the groups that have a unit on.
class ActiveUnits {
 public:
  void resize(int64_t chains, int64_t units) {
    groups_ = row_groups(units);
    blocks_ = (groups_ + kTables - 1) / kTables;
    panels_ = (chains + kPanel - 1) / kPanel;
    place_.resize(static_cast<std::size_t>(panels_ * groups_ * kPanel));
    used_.resize(static_cast<std::size_t>(panels_ * groups_));
    end_.resize(static_cast<std::size_t>(panels_ * (blocks_ + 1)));
    // The last panel may extend beyond the last chain.
    for (int64_t c = chains; c < panels_ * kPanel; ++c) clear(c);
  }
  int64_t groups() const { return groups_; }
  int64_t panels() const { return panels_; }

  // Sets `size` units from `first`, a multiple of four, to `on`. Units beyond the last one are off.
  void set(int64_t chain, int64_t first, const uint8_t* on, int64_t size) {
    const int64_t begin = first / kRowGroup, count = row_groups(size);
    uint16_t* own = places(chain) + begin * kPanel;
    for (int64_t n = 0; n < count; ++n) {
      // Holds four bytes of 0 or 1, from which the product makes four adjacent bits.
      uint32_t four;
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

  // Lists the groups that have a unit on in a chain of the panel. The other groups add nothing.
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
  // Returns the positions of a block's groups in the chains of a panel, [groups, 8].
  const uint16_t* block_places(int64_t p, int64_t block) const {
    return place_.data() + (p * groups_ + block * kTables) * kPanel;
  }
  // Returns a block's part of a panel's list. Groups are counted from the block's first one.
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
  // [panels, groups]. Lists groups in ascending order, numbered within their blocks.
  std::vector<uint8_t> used_;
  // [panels, blocks + 1]. Says where the groups of a block begin in that list.
  std::vector<int64_t> end_;
};

// Writes the columns of tile t of out [chains, columns], for the chains of the panels first … end −
// 1, at most kPartPanels panels. list() must have been called for these panels.
void multiply(const ActiveUnits&, int64_t first, int64_t end, int64_t chains, const TiledMatrix&,
              int64_t t, float* out);
void multiply(const ActiveUnits&, int64_t first, int64_t end, int64_t chains, const TiledMatrix&,
              int64_t t, double* out);

}  // namespace isinglass::cpu
