// kernels/path/fast/lattice_path.cu against lattice_path_cpu.cpp: the chains are the same bit for
// bit, except for energies that are summed anew. Also a launch of many steps against as many
// launches.
#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/path/fast/lattice_path.h"
#include "tests/kernels/lattice/random_graph.h"
#include "tests/simt/ring.h"

namespace isinglass {
namespace {

struct Case {
  Size size;
  int categories;
  bool one_hot;
  LocalTable what;
  PathRule rule;
  Balancing balancing;
  double scale;            // scale of the fields
  bool hub = false;        // all sites joined to the first one, instead of a ring
  bool tempered = false;   // a β a chain
  bool tabulated = false;  // neighbourhoods, on a GPU
  bool tables = false;     // of couplings
};

// A hub: site 0, whose neighbours are all other sites.
struct Hub : Ring {
  Hub(int64_t sites, int categories, Inputs& inputs) : Ring(1, categories, inputs) {
    unary = inputs.reals<double>(sites * categories, 1);
    offset = {0, sites - 1};
    for (int64_t i = 1; i < sites; ++i) {
      neighbour.push_back(static_cast<int32_t>(i));
      coupling.push_back(0.1 * static_cast<double>(i % 7));
    }
    for (int64_t i = 1; i < sites; ++i) {
      neighbour.push_back(0);
      coupling.push_back(0.1 * static_cast<double>(i % 7));
      offset.push_back(static_cast<int64_t>(neighbour.size()));
    }
  }
};

struct Outcome {
  std::vector<uint8_t> x, from, to;
  std::vector<int32_t> length, site;
  std::vector<float> table;
  Sums energy, acceptance, acceptance_sum;
  std::vector<int64_t> hops, hops_sum, non_finite;
  bool operator==(const Outcome&) const = default;
};

Outcome run(const Case& c, int launches, int64_t steps, Twin twin) {
  Inputs inputs(21);
  const int64_t b = c.size.chains, d = c.size.sites, k = c.categories,
                most = std::min<int64_t>(5, d);
  const bool cpu = twin == Twin::kCpu;
  Ring graph = c.hub ? Hub(d, c.categories, inputs) : Ring(d, c.categories, inputs);
  for (double& u : graph.unary) u *= c.scale;
  if (c.tables) graph.add_tables(c.categories, inputs);
  const Lattice lattice = graph.lattice(d, c.categories);
  const PathShape shape{b, d, c.categories, c.one_hot, c.rule, c.balancing, most};
  auto ids = inputs.ids(b);
  ids[0] = 3;  // the energy of this chain is evaluated anew after the second step
  int64_t rng[] = {99, kRefreshEvery - 4};
  const double radius = 0.5 * static_cast<double>(most + 1);
  Outcome o;
  o.x = inputs.states(b * d, c.categories);
  o.from = o.to = std::vector<uint8_t>(b * most);
  o.length = std::vector<int32_t>(launches * steps * b);
  o.site = std::vector<int32_t>(b * most);
  o.table = std::vector<float>(b * d * (c.one_hot ? k : 1));
  o.energy.values = o.acceptance.values = o.acceptance_sum.values = std::vector<double>(b);
  o.hops = o.hops_sum = o.non_finite = std::vector<int64_t>(b);
  std::vector<uint8_t> y = o.x;
  std::vector<double> kept(b * cpu::cached_weights(d)), beta(b), kept_beta(b, NAN);
  for (int64_t i = 0; i < b; ++i) beta[i] = 0.2 + 0.5 * static_cast<double>(i);
  cpu::lattice_evaluate(lattice, b, o.x.data(), c.one_hot, c.what, o.energy.values.data(),
                        o.table.data(), nullptr, nullptr);
  if (cpu && !c.tempered)
    cpu::cache_weights(shape, c.what, o.x.data(), o.table.data(), kept.data(), nullptr);
  const std::optional<Found> found = c.tabulated ? std::optional<Found>(lattice) : std::nullopt;
  for (int n = 0; n < launches; ++n) {
    (cpu ? cpu::lattice_path_step : cuda::lattice_path_step)(
        {steps,
         shape,
         c.what,
         lattice,
         rng,
         ids.data(),
         &radius,
         o.x.data(),
         cpu ? y.data() : nullptr,
         o.table.data(),
         o.energy.values.data(),
         cpu ? kept.data() : nullptr,
         {o.length.data() + n * steps * b, o.site.data(), o.from.data(), o.to.data(), nullptr},
         {o.acceptance.values.data(), o.hops.data(), o.acceptance_sum.values.data(),
          o.hops_sum.data(), o.non_finite.data()},
         c.tempered ? beta.data() : nullptr,
         cpu ? kept_beta.data() : nullptr,
         c.tabulated ? found->neighbourhoods : NeighbourhoodTable{}},
        nullptr);
    cpu::advance(rng, steps, nullptr);
  }
  return o;
}

void expect_alike(const Case& c) {
  SCOPED_TRACE(testing::Message() << c.size.sites << " sites, K " << c.categories << ", what "
                                  << static_cast<int>(c.what) << ", rule "
                                  << static_cast<int>(c.rule) << ", g "
                                  << static_cast<int>(c.balancing) << ", scale " << c.scale);
  expect_twins([&](Twin twin) { return run(c, 1, 6, twin); });
  const Outcome one = run(c, 6, 1, Twin::kCuda), many = run(c, 1, 6, Twin::kCuda);
  EXPECT_TRUE(one == many);
  EXPECT_EQ(one.energy.values, many.energy.values);
  EXPECT_EQ(one.acceptance_sum.values, many.acceptance_sum.values);
}

std::vector<std::pair<LocalTable, PathRule>> rules() {
  return {{LocalTable::kGradient, PathRule::kFrozen},
          {LocalTable::kGradient, PathRule::kLinearised},
          {LocalTable::kGradient, PathRule::kNoBacktrack},
          {LocalTable::kDifferences, PathRule::kLinearised}};
}

TEST(LocalPathTwins, MakeTheSameChains) {
  int g = 0;  // takes turns
  for (const Size& size : {Size{1, 1}, Size{2, 33}, Size{2, 70}}) {
    for (const int categories : {2, 5}) {
      for (const auto& [what, rule] : rules()) {
        const bool one_hot = categories > 2 || g % 2;
        expect_alike({size, categories, one_hot, what, rule, static_cast<Balancing>(g % 4),
                      g % 4 == 3 ? 60.0 : 1.0});  // 60: exp(log weight) overflows
        ++g;
      }
      ++g;
    }
  }
}

// Neighbourhood look-ups in place of gradients give the same chains.
TEST(LocalPathTwins, LookGradientsUp) {
  for (const Size& size : {Size{1, 1}, Size{2, 33}, Size{2, 70}}) {
    for (const auto& [what, rule] : rules()) {
      for (const bool tempered : {false, true}) {
        Case c{size, 2, false, what, rule, Balancing::kBarker, 1};
        c.tempered = tempered;
        c.tabulated = true;
        expect_alike(c);
      }
    }
  }
}

TEST(LocalPathTwins, ManyNeighbours) {
  for (const auto& [what, rule] : rules()) {
    for (const int64_t sites : {32, 65}) {
      expect_alike({{2, sites}, 2, false, what, rule, Balancing::kSqrt, 1, /*hub=*/true});
    }
  }
}

TEST(LocalPathTwins, TemperedChains) {
  for (const int categories : {2, 5}) {
    for (const auto& [what, rule] : rules()) {
      expect_alike({{3, 40},
                    categories,
                    categories > 2,
                    what,
                    rule,
                    Balancing::kSqrt,
                    1,
                    /*hub=*/false,
                    /*tempered=*/true});
    }
  }
}

TEST(LocalPathTwins, TablesOfCouplings) {
  for (const int categories : {2, 5}) {
    for (const auto& [what, rule] : rules()) {
      for (const bool hub : {false, true}) {
        Case c{{3, 40}, categories, true, what, rule, Balancing::kSqrt, 1, hub};
        c.tables = true;
        expect_alike(c);
      }
    }
  }
}

// Accepted and rejected paths both occur.
TEST(LocalPathTwins, ChainsMove) {
  for (const auto& [what, rule] : rules()) {
    const Outcome o = run({{2, 40}, 2, false, what, rule, Balancing::kSqrt, 1}, 1, 30, Twin::kCuda);
    for (int64_t c = 0; c < 2; ++c) {
      EXPECT_GT(o.hops_sum[c], 0);
      EXPECT_LT(o.acceptance_sum.values[c], 30);
      EXPECT_EQ(o.non_finite[c], 0);
    }
  }
}

// Two and four chains a block, the last block not full.
TEST(LocalPathTwins, SeveralChainsABlock) {
  simt::set_schedule(schedules().back());
  for (const int64_t chains : {257, 514}) {
    const Case c{{chains, 3},      2, false, LocalTable::kGradient, PathRule::kLinearised,
                 Balancing::kSqrt, 1};
    EXPECT_TRUE(run(c, 1, 1, Twin::kCuda) == run(c, 1, 1, Twin::kCpu));
  }
  simt::set_schedule({});
}

// A chain fits exactly when its launch is allowed; with gradient look-ups, a larger one fits.
TEST(LocalPathTwins, FitsSharedMemory) {
  const SharedMemory limit(4000);
  simt::set_schedule({});
  const auto most = [](bool tabulated) {
    const auto fits = [&](int64_t sites) {
      PathShape shape{};
      shape.sites = sites;
      shape.categories = 2;
      const int64_t table = cuda::lattice_table_bytes(shape, LocalTable::kGradient, tabulated);
      return cuda::lattice_path_fits(sites, table, 0);
    };
    const auto launch = [&](int64_t sites) {
      Case c{{1, sites}, 2, false, LocalTable::kGradient, PathRule::kFrozen, Balancing::kSqrt, 1};
      c.tabulated = tabulated;
      run(c, 1, 1, Twin::kCuda);
    };
    int64_t sites = 100;
    while (fits(sites + 1)) ++sites;
    launch(sites);
    EXPECT_THROW(launch(sites + 1), std::logic_error);
    return sites;
  };
  EXPECT_GT(most(true), most(false));
}

}  // namespace
}  // namespace isinglass
