// Implements multiply() for the vector lengths of AVX-512 and of other machines.
#include "kernels/rbm/unit_product_cpu.h"

#include <utility>

#include "kernels/base/vectors_cpu.h"

namespace isinglass::cpu {
namespace {

template <int kBytes>
using Columns = Vector<float, kBytes>;
template <int kBytes>
[[gnu::always_inline]] inline Columns<kBytes> load(const float* from) {
  return *reinterpret_cast<const Columns<kBytes>*>(from);
}
template <int kBytes>
[[gnu::always_inline]] inline void store(Columns<kBytes> columns, float* to) {
  *reinterpret_cast<Columns<kBytes>*>(to) = columns;
}

// Writes the 16 sums of every group of four rows, [16, 16]. Bit i of a sum's index says whether row
// i is included.
template <int kBytes>
[[gnu::always_inline]] inline void sum_groups_of(const float* row, int64_t groups, float* table) {
  constexpr int kWidth = kBytes / sizeof(float), kRows = kRowGroup * kTileColumns;
  for (int64_t n = 0; n < groups; ++n, table += kTableSize, row += kRows) {
    for (int k = 0; k < kRowGroup; ++k) {  // This prefetches the rows of the next block.
      __builtin_prefetch(row + kTables * kRows + k * kTileColumns, 0, 2);
    }
    for (int first = 0; first < kTileColumns; first += kWidth) {
      Columns<kBytes> sum[kSums] = {};
      for (int top = 0; top < kRowGroup; ++top) {
        const auto added = load<kBytes>(row + top * kTileColumns + first);
        for (int m = 0; m < 1 << top; ++m) sum[1 << top | m] = sum[m] + added;
      }
      for (int m = 0; m < kSums; ++m) store<kBytes>(sum[m], table + m * kTileColumns + first);
    }
  }
}
ISINGLASS_BY_WIDTH(void, sum_groups, (const float* row, int64_t groups, float* table),
                   (row, groups, table))

// Adds to total [8, 16] the table entries of one panel's chains for the groups in a list. The
// indices are compile-time constants, so that the sums stay in registers.
template <int kBytes, int... l>
[[gnu::always_inline]] inline void add_columns(std::integer_sequence<int, l...>, const float* table,
                                               const uint16_t* place, const uint8_t* used,
                                               int64_t count, float* total) {
  Columns<kBytes> sum[] = {load<kBytes>(total + l * kTileColumns)...};
  for (int64_t n = 0; n < count; ++n) {
    uint64_t four[kPanel / 4];  // Each number holds four positions of 16 bits.
    std::memcpy(four, place + uint64_t{used[n]} * kPanel, sizeof four);
    ((sum[l] += load<kBytes>(table + (four[l / 4] >> l % 4 * 16 & 0xffff))), ...);
  }
  (store<kBytes>(sum[l], total + l * kTileColumns), ...);
}
// Adds to total [panels, 8, 16] the entries of a block's tables, for the panels begin … end − 1.
template <int kBytes>
[[gnu::always_inline]] inline void add_groups_of(const float* table, const ActiveUnits& on,
                                                 int64_t block, int64_t begin, int64_t end,
                                                 float* total) {
  constexpr int kWidth = kBytes / sizeof(float);
  for (int64_t p = begin; p < end; ++p, total += kPanel * kTileColumns) {
    for (int first = 0; first < kTileColumns; first += kWidth) {
      add_columns<kBytes>(std::make_integer_sequence<int, kPanel>(), table + first,
                          on.block_places(p, block), on.used(p, block), on.used_count(p, block),
                          total + first);
    }
  }
}
ISINGLASS_BY_WIDTH(void, add_groups,
                   (const float* table, const ActiveUnits& on, int64_t block, int64_t begin,
                    int64_t end, float* total),
                   (table, on, block, begin, end, total))

template <class Out>
void multiply_to(const ActiveUnits& on, int64_t first, int64_t end, int64_t chains,
                 const TiledMatrix& weights, int64_t t, Out* out) {
  alignas(64) float table[kTables * kTableSize];
  alignas(64) float total[kPartPanels * kPanel * kTileColumns];
  const float* biases = weights.biases(t);
  const int64_t rows = (end - first) * kPanel;
  for (int64_t l = 0; l < rows; ++l) std::copy_n(biases, kTileColumns, total + l * kTileColumns);
  for (int64_t begin = 0; begin < on.groups(); begin += kTables) {
    sum_groups(biases + (1 + begin * kRowGroup) * kTileColumns,
               std::min(kTables, on.groups() - begin), table);
    add_groups(table, on, begin / kTables, first, end, total);
  }
  const int64_t column = t * kTileColumns, last = std::min(end * kPanel, chains);
  const int64_t size = std::min<int64_t>(kTileColumns, weights.columns - column);
  for (int64_t c = first * kPanel; c < last; ++c) {
    const float* own = total + (c - first * kPanel) * kTileColumns;
    Out* to = out + c * weights.columns + column;
    if (size == kTileColumns) {
      std::copy_n(own, kTileColumns, to);
    } else {
      std::copy_n(own, size, to);
    }
  }
}

}  // namespace

void multiply(const ActiveUnits& on, int64_t first, int64_t end, int64_t chains,
              const TiledMatrix& weights, int64_t t, float* out) {
  multiply_to(on, first, end, chains, weights, t, out);
}
void multiply(const ActiveUnits& on, int64_t first, int64_t end, int64_t chains,
              const TiledMatrix& weights, int64_t t, double* out) {
  multiply_to(on, first, end, chains, weights, t, out);
}

}  // namespace isinglass::cpu
