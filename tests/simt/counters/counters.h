// Counters of a kernel launch under the interpreter. They give a profiler's figures of memory
// accesses and barriers on a machine without a GPU.
//
// Sources of kernels are compiled with GCC's -fsanitize=thread and without its library. The
// compiler then calls __tsan_read4(address) and similar functions before every access that it does
// not keep in a register, and counters.cpp defines these functions. Kernels are therefore counted
// without a change of their source. Accesses to stacks, to arguments and to constants of the
// program are left out.
//
// Threads run one after the other, but a warp's accesses are counted in lockstep: the accesses of
// its lanes between two synchronisation points are aligned afterwards by the rule "deepest call
// first, then lowest address of code" (S. Collange, "Stack-less SIMT reconvergence at low cost",
// 2011). By this rule lanes that leave a loop early wait for the others behind it. Lanes at the
// same instruction make one access of the warp:
//
//   sectors         different aligned 32 bytes of global memory in it
//   bank conflicts  32 banks of 4 bytes; the largest number of different words in a bank, minus
//                   one; accesses of 8 bytes go half a warp at a time, those of 16 a quarter
//                   (CUDA C++ Programming Guide)
//
// Compilers differ: GCC at -O2 and nvcc may keep different values in registers, and a counted load
// of a byte may be a part of one of 16 bytes. The counters serve to compare kernels and to bound
// their traffic.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "tests/simt/interpreter.h"

namespace simt {

// Counts of one warp or of all warps. Accesses and other events count once per warp, for any number
// of active lanes.
struct WarpCounts {
  int64_t loads = 0, stores = 0;                // of global memory
  int64_t load_sectors = 0, store_sectors = 0;  // 32 bytes each
  int64_t shared = 0, bank_conflicts = 0;       // accesses of shared memory, and turns they wait
  int64_t philox = 0;      // calls: the largest number of a lane between synchronisation points
  int64_t fused = 0;       // fmaf() in float32, counted like Philox calls
  int64_t operations = 0;  // shuffles, votes, __syncwarp
  int64_t barriers = 0;    // __syncthreads
  int64_t atomics = 0;     // of lanes

  WarpCounts& operator+=(const WarpCounts& other);
  bool operator==(const WarpCounts&) const = default;
};

struct LaunchCounts {
  Launch launch;
  WarpCounts warps;                           // sums over warps
  WarpCounts longest;                         // of the slowest warp, by the rough cycles of cost()
  int64_t philox_calls = 0;                   // of lanes
  int64_t barriers = 0;                       // of blocks
  int64_t bytes_read = 0, bytes_written = 0;  // different sectors of global memory
  int64_t unwritten_reads = 0;  // of shared memory that no thread of the block had written
};

// Returns a rough latency of a warp's work, to determine which warp finishes last: global 400,
// shared 25, Philox 150, an operation 25, a barrier 30 cycles (scripts/gpu has the devices' own
// values).
int64_t cost(const WarpCounts& counts);

// Counts all launches during its lifetime. Only one may exist at a time.
class Counters {
 public:
  Counters();
  ~Counters();
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  const std::vector<LaunchCounts>& launches() const;
};

}  // namespace simt
