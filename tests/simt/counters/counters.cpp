// Implements the counters, including the functions that the compiler's instrumentation calls.
#include "tests/simt/counters/counters.h"

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_set>

#include "tests/simt/counters/event.h"

namespace simt {
namespace {

constexpr unsigned kWarp = 32;
constexpr uint64_t kSector = 32;

struct Access {
  uint64_t address;
  uintptr_t code;
  uint16_t depth;  // call depth
  uint16_t bytes;
  bool write, shared;
};

struct Lane {
  std::vector<Access> accesses;
  size_t next = 0;
  int64_t philox = 0, fused = 0;
  uint16_t depth = 0;

  const Access* front() const { return next < accesses.size() ? &accesses[next] : nullptr; }
};

// Records the bytes of shared memory that a block has written.
class Written {
 public:
  void clear() {
    for (size_t r = 0; r < 2; ++r) {
      ranges_[r] = r == 0 ? dynamic_range() : static_range();
      bytes_[r].assign(ranges_[r].bytes, false);
    }
  }
  // Returns true if all bytes were written before.
  bool touch(uint64_t address, size_t count, bool write) {
    bool all = true;
    for (size_t r = 0; r < 2; ++r) {
      const auto begin = reinterpret_cast<uint64_t>(ranges_[r].begin);
      for (uint64_t a = address; a < address + count; ++a) {
        if (a < begin || a >= begin + ranges_[r].bytes) continue;
        all &= bytes_[r][a - begin];
        if (write) bytes_[r][a - begin] = true;
      }
    }
    return all;
  }

 private:
  std::array<SharedRange, 2> ranges_ = {};
  std::array<std::vector<bool>, 2> bytes_;
};

// The lanes that make an access together.
using Group = std::vector<const Access*>;

int64_t different_sectors(const Group& group, std::unordered_set<uint64_t>& footprint) {
  std::vector<uint64_t> sectors;
  for (const Access* a : group) {
    for (uint64_t s = a->address / kSector; s <= (a->address + a->bytes - 1) / kSector; ++s) {
      sectors.push_back(s);
    }
  }
  std::sort(sectors.begin(), sectors.end());
  sectors.erase(std::unique(sectors.begin(), sectors.end()), sectors.end());
  footprint.insert(sectors.begin(), sectors.end());
  return static_cast<int64_t>(sectors.size());
}

// Returns the bank conflicts of the lanes [first, end) of a warp.
int64_t conflicts_of(const std::array<const Access*, kWarp>& lanes, unsigned first, unsigned end) {
  std::array<std::vector<uint64_t>, 32> banks;
  for (unsigned l = first; l < end; ++l) {
    if (!lanes[l]) continue;
    const uint64_t last = lanes[l]->address + lanes[l]->bytes - 1;
    for (uint64_t word = lanes[l]->address / 4; word <= last / 4; ++word) {
      std::vector<uint64_t>& bank = banks[word % 32];
      if (std::find(bank.begin(), bank.end(), word) == bank.end()) bank.push_back(word);
    }
  }
  size_t most = 1;
  for (const auto& bank : banks) most = std::max(most, bank.size());
  return static_cast<int64_t>(most - 1);
}

int64_t conflicts_of(const std::array<const Access*, kWarp>& lanes, unsigned bytes) {
  const unsigned together = bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8;
  int64_t conflicts = 0;
  for (unsigned first = 0; first < kWarp; first += together) {
    conflicts += conflicts_of(lanes, first, first + together);
  }
  return conflicts;
}

class Counting : public Observer {
 public:
  void begin_launch(const Launch& launch) override {
    counts_ = {};
    counts_.launch = launch;
    counting_ = false;
    lanes_.clear();
    read_.clear();
    written_sectors_.clear();
  }

  void begin_block() override {
    written_.clear();
    for (Lane& lane : lanes_) lane.depth = 0;
    warps_.clear();
  }

  void run(unsigned thread) override {
    if (lanes_.size() <= thread) lanes_.resize((thread / kWarp + 1) * kWarp);
    if (warps_.size() <= thread / kWarp) warps_.resize(thread / kWarp + 1);
    leave();
    running_ = thread;
    counting_ = true;
    philox_before_ = philox_events;
    fused_before_ = fused_events;
  }

  // Aligns the accesses of lanes that have reached a synchronisation point.
  void stop(unsigned warp) override {
    leave();
    while (const Access* first = next_of(warp)) take_together(warp, *first);
    int64_t most = 0, most_fused = 0;
    for (unsigned l = 0; l < kWarp; ++l) {
      Lane& lane = lanes_[warp * kWarp + l];
      most = std::max(most, lane.philox);
      most_fused = std::max(most_fused, lane.fused);
      counts_.philox_calls += lane.philox;
      lane.accesses.clear();
      lane.next = 0;
      lane.philox = lane.fused = 0;
    }
    warps_[warp].philox += most;
    warps_[warp].fused += most_fused;
  }

  void meet_lanes(unsigned warp) override { ++warps_[warp].operations; }

  void meet_block() override {
    ++counts_.barriers;
    for (WarpCounts& warp : warps_) ++warp.barriers;
  }

  void atomic(const void*) override { ++warps_[running_ / kWarp].atomics; }

  void end_launch() override {
    counts_.bytes_read = static_cast<int64_t>(kSector * read_.size());
    counts_.bytes_written = static_cast<int64_t>(kSector * written_sectors_.size());
    launches.push_back(counts_);
  }

  void end_block() override {
    for (const WarpCounts& warp : warps_) {
      counts_.warps += warp;
      if (cost(warp) > cost(counts_.longest)) counts_.longest = warp;
    }
  }

  void access(const void* address, size_t bytes, bool write, uintptr_t code) {
    if (!counting_) return;
    const Space space = space_of(address);
    if (space == Space::kNone) return;
    const auto at = reinterpret_cast<uint64_t>(address);
    Lane& lane = lanes_[running_];
    const bool shared = space == Space::kShared;
    if (shared && !written_.touch(at, bytes, write) && !write) ++counts_.unwritten_reads;
    lane.accesses.push_back({at, code, lane.depth, static_cast<uint16_t>(bytes), write, shared});
  }

  void call(int change) {
    if (counting_) lanes_[running_].depth = static_cast<uint16_t>(lanes_[running_].depth + change);
  }

  std::vector<LaunchCounts> launches;

 private:
  // Ends the record of the running thread.
  void leave() {
    if (counting_) {
      lanes_[running_].philox += static_cast<int64_t>(philox_events - philox_before_);
      lanes_[running_].fused += static_cast<int64_t>(fused_events - fused_before_);
    }
    counting_ = false;
  }

  // Returns the access that comes first in lockstep, or null.
  const Access* next_of(unsigned warp) const {
    const Access* first = nullptr;
    for (unsigned l = 0; l < kWarp; ++l) {
      const Access* a = lanes_[warp * kWarp + l].front();
      if (!a) continue;
      const bool before =
          !first || a->depth > first->depth || (a->depth == first->depth && a->code < first->code);
      if (before) first = a;
    }
    return first;
  }

  void take_together(unsigned warp, const Access first) {
    std::array<const Access*, kWarp> lanes = {};
    Group group;
    for (unsigned l = 0; l < kWarp; ++l) {
      Lane& lane = lanes_[warp * kWarp + l];
      const Access* a = lane.front();
      if (!a || a->depth != first.depth || a->code != first.code || a->shared != first.shared)
        continue;
      group.push_back(lanes[l] = a);
      ++lane.next;
    }
    WarpCounts& counts = warps_[warp];
    if (first.shared) {
      ++counts.shared;
      counts.bank_conflicts += conflicts_of(lanes, first.bytes);
    } else {
      (first.write ? counts.stores : counts.loads) += 1;
      (first.write ? counts.store_sectors : counts.load_sectors) +=
          different_sectors(group, first.write ? written_sectors_ : read_);
    }
  }

  LaunchCounts counts_;
  std::vector<Lane> lanes_;        // of the block
  std::vector<WarpCounts> warps_;  // of the block
  std::unordered_set<uint64_t> read_, written_sectors_;
  Written written_;
  unsigned running_ = 0;
  bool counting_ = false;  // a thread runs
  uint64_t philox_before_ = 0, fused_before_ = 0;
};

std::unique_ptr<Counting> counting;

void tell(const void* address, size_t bytes, bool write, const void* code) {
  if (counting) counting->access(address, bytes, write, reinterpret_cast<uintptr_t>(code));
}

}  // namespace

WarpCounts& WarpCounts::operator+=(const WarpCounts& other) {
  loads += other.loads;
  stores += other.stores;
  load_sectors += other.load_sectors;
  store_sectors += other.store_sectors;
  shared += other.shared;
  bank_conflicts += other.bank_conflicts;
  philox += other.philox;
  fused += other.fused;
  operations += other.operations;
  barriers += other.barriers;
  atomics += other.atomics;
  return *this;
}

int64_t cost(const WarpCounts& c) {
  return 400 * (c.loads + c.atomics) + 25 * (c.shared + c.operations) + 2 * c.bank_conflicts +
         150 * c.philox + c.fused + 30 * c.barriers;
}

Counters::Counters() {
  if (counting) throw std::logic_error("counters count already");
  counting = std::make_unique<Counting>();
  set_observer(counting.get());
}

Counters::~Counters() {
  set_observer(nullptr);
  counting.reset();
}

const std::vector<LaunchCounts>& Counters::launches() const {
  return counting->launches;
}

}  // namespace simt

// The functions that the compiler's instrumentation calls.
#define ISINGLASS_ACCESS(name, bytes, write)                        \
  extern "C" void __tsan_##name(void* address) {                    \
    simt::tell(address, bytes, write, __builtin_return_address(0)); \
  }
ISINGLASS_ACCESS(read1, 1, false)
ISINGLASS_ACCESS(read2, 2, false)
ISINGLASS_ACCESS(read4, 4, false)
ISINGLASS_ACCESS(read8, 8, false)
ISINGLASS_ACCESS(read16, 16, false)
ISINGLASS_ACCESS(unaligned_read2, 2, false)
ISINGLASS_ACCESS(unaligned_read4, 4, false)
ISINGLASS_ACCESS(unaligned_read8, 8, false)
ISINGLASS_ACCESS(unaligned_read16, 16, false)
ISINGLASS_ACCESS(write1, 1, true)
ISINGLASS_ACCESS(write2, 2, true)
ISINGLASS_ACCESS(write4, 4, true)
ISINGLASS_ACCESS(write8, 8, true)
ISINGLASS_ACCESS(write16, 16, true)
ISINGLASS_ACCESS(unaligned_write2, 2, true)
ISINGLASS_ACCESS(unaligned_write4, 4, true)
ISINGLASS_ACCESS(unaligned_write8, 8, true)
ISINGLASS_ACCESS(unaligned_write16, 16, true)
extern "C" void __tsan_read_range(void* address, size_t bytes) {
  simt::tell(address, bytes, false, __builtin_return_address(0));
}
extern "C" void __tsan_write_range(void* address, size_t bytes) {
  simt::tell(address, bytes, true, __builtin_return_address(0));
}
extern "C" void __tsan_func_entry(void*) {
  if (simt::counting) simt::counting->call(1);
}
extern "C" void __tsan_func_exit() {
  if (simt::counting) simt::counting->call(-1);
}
extern "C" uint8_t __tsan_atomic8_load(const volatile uint8_t* at, int) {  // guards of statics
  return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}
extern "C" void __tsan_vptr_update(void**, void*) {}
extern "C" void __tsan_init() {}
