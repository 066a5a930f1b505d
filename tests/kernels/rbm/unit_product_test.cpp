// Products of the units that are on with a matrix in tiles (CPU), against sums of its rows, with
// small whole numbers, which float32 adds without rounding in any order.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/rbm/unit_product_cpu.h"

namespace isinglass::unit_product_test {
namespace {

constexpr int64_t kColumns = 3;

// The weight of unit u in column j.
float weight_of(int64_t u, int64_t j) {
  return static_cast<float>((u * 7 + j) % 11 - 5);
}

// The products of chains whose units are on where on(chain, unit) says so.
template <class On>
std::vector<float> products(int64_t chains, int64_t units, On on) {
  std::vector<float> tile(tile_rows(units) * kTileColumns);
  for (int64_t j = 0; j < kColumns; ++j) {
    tile[j] = static_cast<float>(j);  // the biases
    for (int64_t u = 0; u < units; ++u) tile[(1 + u) * kTileColumns + j] = weight_of(u, j);
  }
  cpu::ActiveUnits active;
  active.resize(chains, units);
  for (int64_t c = 0; c < chains; ++c) {
    std::vector<uint8_t> all(row_groups(units) * kRowGroup);
    for (int64_t u = 0; u < units; ++u) all[u] = on(c, u);
    active.set(c, 0, all.data(), units);
  }
  for (int64_t p = 0; p < active.panels(); ++p) active.list(p);
  std::vector<float> out(chains * kColumns, -1);
  cpu::multiply(active, 0, active.panels(), chains, {tile.data(), units, kColumns}, 0, out.data());
  return out;
}

template <class On>
void expect_sums_of_rows(int64_t chains, int64_t units, On on) {
  const std::vector<float> out = products(chains, units, on);
  for (int64_t c = 0; c < chains; ++c) {
    for (int64_t j = 0; j < kColumns; ++j) {
      double sum = static_cast<double>(j);
      for (int64_t u = 0; u < units; ++u) sum += on(c, u) ? weight_of(u, j) : 0;
      EXPECT_EQ(out[c * kColumns + j], sum) << "chain " << c << ", column " << j;
    }
  }
}

TEST(UnitProduct, IsTheSumOfTheRowsOfUnitsThatAreOn) {
  for (const int64_t units : {1, 4, 63, 64, 65, 1000}) {
    SCOPED_TRACE(units);
    expect_sums_of_rows(11, units, [](int64_t c, int64_t u) { return (u + c) % 3 == 0; });
  }
}

// There are 65,552 groups of four units, which is beyond 16-bit numbers.
constexpr int64_t kManyUnits = (1 << 18) + 64;

TEST(UnitProduct, KnowsAUnitBeyondManyOthers) {
  expect_sums_of_rows(2, kManyUnits, [](int64_t c, int64_t u) { return u == kManyUnits - 3 - c; });
}

TEST(UnitProduct, CountsMoreGroupsInUseThan16BitsDo) {
  expect_sums_of_rows(2, kManyUnits, [](int64_t c, int64_t u) { return c == 0 || u % 4 == 1; });
}

}  // namespace
}  // namespace isinglass::unit_product_test
