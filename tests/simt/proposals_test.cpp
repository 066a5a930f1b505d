// Tabulated sites, exact paths, any-scale proposals and normal numbers: CUDA twins against CPU
// twins.
#include "kernels/any_scale/any_scale.h"
#include "kernels/path/exact_path.h"
#include "kernels/path/tabulated_site.h"
#include "kernels/random/normal.h"
#include "tests/simt/ring.h"

namespace isinglass {
namespace {

const int64_t kRng[] = {99, 4};

struct TableOutcome {
  std::vector<uint8_t> y;
  std::vector<int64_t> site;
  std::vector<double> forward, backward, balances;
  bool operator==(const TableOutcome&) const = default;
};

TableOutcome table(const Size& size, double scale, Twin twin) {
  Inputs inputs(11);
  const int64_t n = size.chains * size.sites;
  const bool cpu = twin == Twin::kCpu;
  const TableShape shape{size.chains, size.sites};
  const auto at_x = inputs.reals<double>(n, scale), at_y = inputs.reals<double>(n, scale);
  const auto x = inputs.states(n, 2);
  const auto ids = inputs.ids(size.chains);
  std::vector<double> sums(size.chains * block_sums_size(size.sites));
  TableOutcome o{x, std::vector<int64_t>(size.chains), std::vector<double>(size.chains),
                 std::vector<double>(size.chains), std::vector<double>(4 * n)};
  (cpu ? cpu::draw_tabulated_site : cuda::draw_tabulated_site)(
      shape, at_x.data(), x.data(), kRng, ids.data(), 0, o.y.data(), o.site.data(), sums.data(),
      o.forward.data(), nullptr);
  (cpu ? cpu::score_tabulated_site : cuda::score_tabulated_site)(
      shape, at_y.data(), o.y.data(), o.site.data(), sums.data(), o.backward.data(), nullptr);
  (cpu ? cpu::log_balances : cuda::log_balances)(n, at_x.data(), o.balances.data(), nullptr);
  return o;
}

TEST(TableTwins, DrawAndScoreAlike) {
  for (const Size& size : sizes()) {
    for (const double scale : {1.0, 200.0}) {
      expect_twins([&](Twin twin) { return table(size, scale, twin); });
    }
  }
}

TEST(TableTwins, SumsInGlobalMemory) {
  const SharedMemory limit(600);
  expect_twins([&](Twin twin) { return table({3, 785}, 1.0, twin); });
}

TEST(TableTwins, SeveralChainsABlock) {
  simt::set_schedule(schedules().back());
  EXPECT_TRUE(table({514, 33}, 1.0, Twin::kCuda) == table({514, 33}, 1.0, Twin::kCpu));
  simt::set_schedule({});
}

struct PathOutcome {
  std::vector<uint8_t> y, from;
  std::vector<int32_t> length, entry;
  std::vector<double> forward, backward;
  bool operator==(const PathOutcome&) const = default;
};

PathOutcome exact_path(const ExactPathShape& s, double scale, Twin twin) {
  Inputs inputs(12);
  const double radius = 2.5;
  std::vector<uint8_t> start = inputs.states(s.chains * s.sites, s.categories);
  if (s.moves == Moves::kSwaps) {
    start.resize(s.chains * s.state_bytes());
    auto* values = reinterpret_cast<int64_t*>(start.data());
    for (int64_t i = 0; i < s.chains * s.sites; ++i) values[i] = i % s.sites;
  }
  const auto ids = inputs.ids(s.chains);
  std::vector<double> sums(s.chains * block_sums_size(s.entries()));
  PathOutcome o{start,
                std::vector<uint8_t>(s.chains),
                std::vector<int32_t>(s.chains),
                std::vector<int32_t>(s.chains),
                std::vector<double>(s.chains),
                std::vector<double>(s.chains)};
  const ExactPaths paths{o.length.data(), o.entry.data(), o.from.data(), sums.data()};
  for (int64_t position = 0; position <= s.max_length; ++position) {
    const auto differences = inputs.reals<float>(s.chains * s.table_stride(), scale);
    (twin == Twin::kCpu ? cpu::advance_exact_path : cuda::advance_exact_path)(
        s, position, differences.data(), kRng, ids.data(), &radius, o.y.data(), paths,
        o.forward.data(), o.backward.data(), nullptr);
  }
  return o;
}

TEST(ExactPathTwins, AdvanceAlike) {
  for (const Size& size : sizes()) {
    for (const Moves moves : {Moves::kFlips, Moves::kValues, Moves::kSwaps}) {
      if (moves == Moves::kSwaps && (size.sites < 2 || size.sites > 100)) continue;
      const int categories = moves == Moves::kValues ? 5 : 2;
      for (int g = 0; g < 4; ++g) {
        const ExactPathShape shape{
            size.chains, size.sites, categories, moves, static_cast<Balancing>(g), 4};
        expect_twins([&](Twin twin) { return exact_path(shape, 3.0, twin); });
      }
    }
  }
}

// Sums over values are shared among lanes, so that they are equal up to rounding.
TEST(ExactPathTwins, ManyValues) {
  for (const int categories : {16, 33, 256}) {
    const ExactPathShape shape{2, 35, categories, Moves::kValues, Balancing::kSqrt, 4};
    expect_twins([&](Twin twin) {
      const PathOutcome o = exact_path(shape, 3.0, twin);
      return std::tuple(o.y, o.from, o.length, o.entry, Sums{o.forward}, Sums{o.backward});
    });
  }
}

TEST(ExactPathTwins, SeveralChainsABlock) {
  simt::set_schedule(schedules().back());
  const ExactPathShape shape{514, 7, 2, Moves::kSwaps, Balancing::kSqrt, 1};
  EXPECT_TRUE(exact_path(shape, 3.0, Twin::kCuda) == exact_path(shape, 3.0, Twin::kCpu));
  simt::set_schedule({});
}

// 65 536 entries have 73 KiB of sums: a block of a Volta holds them, one of a Turing does not.
TEST(ExactPathTwins, SumsInGlobalMemory) {
  const ExactPathShape shape{1, 65536, 2, Moves::kFlips, Balancing::kSqrt, 1};
  simt::set_schedule({});
  const PathOutcome expected = exact_path(shape, 3.0, Twin::kCpu);
  for (const int64_t bytes : {simt::kVolta, simt::kTuring}) {
    const SharedMemory limit(bytes);
    EXPECT_TRUE(exact_path(shape, 3.0, Twin::kCuda) == expected) << bytes;
  }
  const SharedMemory limit(600);
  const ExactPathShape swaps{2, 40, 2, Moves::kSwaps, Balancing::kSqrt, 4};
  expect_twins([&](Twin twin) { return exact_path(swaps, 3.0, twin); });
}

// log q is a sum over sites, which is equal up to rounding.
struct OrderedOutcome {
  std::vector<uint8_t> y;
  std::vector<double> move, normals;
  Sums forward, backward;
  bool operator==(const OrderedOutcome&) const = default;
};

OrderedOutcome ordered(const Size& size, int categories, bool noise, Twin twin) {
  Inputs inputs(13);
  const int64_t n = size.chains * size.sites;
  const bool cpu = twin == Twin::kCpu;
  const OrderedShape shape{size.chains, size.sites, categories};
  const auto x = inputs.states(n, categories);
  const auto at_x = inputs.reals<float>(n, 2), at_y = inputs.reals<float>(n, 2);
  const auto xi = inputs.reals<double>(n, 1), field = inputs.reals<double>(n, 1);
  auto diagonal = inputs.reals<double>(size.sites, 1);
  for (double& d : diagonal) d = std::abs(d);
  const double scale[] = {0.7, 0.5};
  const auto ids = inputs.ids(size.chains);
  OrderedProposal proposal{at_x.data(), noise ? xi.data() : nullptr, noise ? field.data() : nullptr,
                           diagonal.data(), scale};
  OrderedOutcome o{x,
                   std::vector<double>(n),
                   std::vector<double>(n),
                   {std::vector<double>(size.chains)},
                   {std::vector<double>(size.chains)}};
  (cpu ? cpu::draw_ordered : cuda::draw_ordered)(shape, proposal, x.data(), kRng, ids.data(),
                                                 o.y.data(), noise ? o.move.data() : nullptr,
                                                 o.forward.values.data(), nullptr);
  proposal.gradient = at_y.data();
  (cpu ? cpu::score_ordered : cuda::score_ordered)(shape, proposal, o.y.data(), x.data(),
                                                   o.backward.values.data(), nullptr);
  (cpu ? cpu::step_normals : cuda::step_normals)(size.chains, size.sites, kRng, ids.data(),
                                                 o.normals.data(), nullptr);
  return o;
}

TEST(OrderedTwins, DrawAndScoreAlike) {
  for (const Size& size : sizes()) {
    for (const int categories : {2, 7}) {
      for (const bool noise : {false, true}) {
        expect_twins([&](Twin twin) { return ordered(size, categories, noise, twin); });
      }
    }
  }
}

}  // namespace
}  // namespace isinglass
