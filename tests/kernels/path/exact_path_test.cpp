// The kernel of paths with exact differences against plain float64 sums: at sizes that do not fit
// blocks, with |Δ| up to hundreds, with a dominant neighbour, and where differences are not finite.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/ops/path.h"

namespace isinglass::exact_path_test {
namespace {

enum class Kind { kBinary, kOneHot, kSwaps };

struct Case {
  Kind kind;
  int64_t sites, categories;
  Balancing balancing;
  double scale;
};

std::string name_of(const testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  return fmt::format("kind{}_D{}_K{}_g{}_scale{}", static_cast<int>(c.kind), c.sites, c.categories,
                     static_cast<int>(c.balancing), static_cast<int>(c.scale));
}

double log_balance_of(Balancing g, double d) {
  if (g == Balancing::kSqrt) return d / 2;
  if (g == Balancing::kMin) return std::min(0.0, d);
  if (g == Balancing::kMax) return std::max(0.0, d);
  return d > 0 ? -std::log1p(std::exp(-d)) : d - std::log1p(std::exp(d));
}

// A move of one chain, in the order of its table: its target and its log-weight.
struct Neighbour {
  torch::Tensor y;
  double log_weight;
};

std::vector<Neighbour> neighbours(const Case& c, const torch::Tensor& x,
                                  const torch::Tensor& table) {
  std::vector<Neighbour> all;
  int64_t pair = 0;
  const auto add = [&](const torch::Tensor& y, const torch::Tensor& d) {
    all.push_back({y, log_balance_of(c.balancing, d.item<double>())});
  };
  for (int64_t i = 0; i < c.sites; ++i) {
    if (c.kind == Kind::kSwaps) {
      for (int64_t j = i + 1; j < c.sites; ++j) {
        torch::Tensor y = x.clone();
        y[i] = x[j];
        y[j] = x[i];
        add(y, table[pair++]);
      }
      continue;
    }
    for (int64_t k = 0; k < c.categories; ++k) {
      if (x[i].item<int64_t>() == k) continue;
      torch::Tensor y = x.clone();
      y[i] = k;
      add(y, c.kind == Kind::kBinary ? table[i] : table[i][k]);
    }
  }
  return all;
}

// log of the probability of moving from x to y.
double log_probability(const Case& c, const torch::Tensor& x, const torch::Tensor& table,
                       const torch::Tensor& y) {
  double max = -INFINITY, sum = 0, chosen = NAN;
  const auto all = neighbours(c, x, table);
  for (const Neighbour& n : all) {
    max = std::max(max, n.log_weight);
    if (torch::equal(n.y, y)) chosen = n.log_weight;
  }
  for (const Neighbour& n : all) sum += std::exp(n.log_weight - max);
  return chosen - max - std::log(sum);
}

class ExactPathKernel : public testing::TestWithParam<Case> {
 protected:
  static constexpr int64_t kChains = 5;

  torch::Tensor states() const {
    const Case& c = GetParam();
    auto generator = at::make_generator<at::CPUGeneratorImpl>(11);
    if (c.kind == Kind::kSwaps) {
      return std::get<1>(torch::rand({kChains, c.sites}, generator).sort(1));
    }
    return torch::randint(0, c.categories, {kChains, c.sites}, generator, torch::kUInt8);
  }
  torch::Tensor table(uint64_t seed) const {
    const Case& c = GetParam();
    std::vector<int64_t> shape = {kChains, c.sites};
    if (c.kind == Kind::kOneHot) shape.push_back(c.categories);
    if (c.kind == Kind::kSwaps) shape[1] = c.sites * (c.sites - 1) / 2;
    return torch::randn(shape, at::make_generator<at::CPUGeneratorImpl>(seed)) * c.scale;
  }
};

// Tables may hold any numbers: each position's moves are scored with its own table.
TEST_P(ExactPathKernel, ScoresEqualTheReference) {
  const Case& c = GetParam();
  const int64_t most = 4;
  const torch::Tensor rng = torch::tensor({int64_t{5}, int64_t{0}}), ids = torch::arange(kChains);
  const torch::Tensor radius = torch::full({}, 2.5, torch::kFloat64);
  torch::Tensor y = states();
  torch::Tensor forward = torch::empty({kChains}, torch::kFloat64);
  torch::Tensor backward = torch::empty({kChains}, torch::kFloat64);
  auto paths = ops::ExactPathBuffers::create(table(0));
  std::vector<double> log_forward(kChains), log_backward(kChains);
  torch::Tensor last;
  for (int64_t l = 0; l <= most; ++l) {
    const torch::Tensor differences = table(l), before = y.clone();
    ops::advance_exact_path(differences, rng, ids, radius, l, most, c.balancing, y, paths, forward,
                            backward);
    for (int64_t b = 0; b < kChains; ++b) {
      const int64_t length = paths.length[b].item<int64_t>();
      EXPECT_TRUE(length >= 1 && length <= most);
      if (l < length) {
        EXPECT_FALSE(torch::equal(before[b], y[b]));
        log_forward[b] += log_probability(c, before[b], differences[b], y[b]);
      } else {
        EXPECT_TRUE(torch::equal(before[b], y[b]));
      }
      if (l > 0 && l <= length) {
        log_backward[b] += log_probability(c, before[b], differences[b], last[b]);
      }
    }
    last = before;
  }
  for (int64_t b = 0; b < kChains; ++b) {
    EXPECT_TRUE(std::isfinite(backward[b].item<double>()));
    EXPECT_NEAR(forward[b].item<double>(), log_forward[b],
                1e-9 * std::max(1.0, std::abs(log_forward[b])));
    EXPECT_NEAR(backward[b].item<double>(), log_backward[b],
                1e-9 * std::max(1.0, std::abs(log_backward[b])));
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (int g = 0; g < 4; ++g) {
    const auto balancing = static_cast<Balancing>(g);
    all.push_back({Kind::kBinary, 1, 2, balancing, 1});
    all.push_back({Kind::kBinary, 33, 2, balancing, 80});
    all.push_back({Kind::kBinary, 100, 2, balancing, 2});
    all.push_back({Kind::kOneHot, 45, 5, balancing, 20});
    all.push_back({Kind::kOneHot, 7, 2, balancing, 1});
    all.push_back({Kind::kSwaps, 2, 2, balancing, 1});
    all.push_back({Kind::kSwaps, 13, 13, balancing, 20});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Shapes, ExactPathKernel, testing::ValuesIn(cases()), name_of);

// If one neighbour is e^40 times as probable as all others, chains take it. Neighbours whose
// difference is not finite are never taken, and the others keep their probabilities.
TEST(ExactPathTables, DominantAndNonFiniteNeighbours) {
  const int64_t chains = 20000, sites = 70;
  const auto draw = [&](const torch::Tensor& row) {
    torch::Tensor y = torch::zeros({chains, sites}, torch::kUInt8);
    torch::Tensor forward = torch::empty({chains}, torch::kFloat64);
    torch::Tensor backward = torch::empty({chains}, torch::kFloat64);
    const torch::Tensor table = row.expand({chains, sites}).contiguous();
    auto paths = ops::ExactPathBuffers::create(table);
    ops::advance_exact_path(table, torch::tensor({int64_t{8}, int64_t{0}}), torch::arange(chains),
                            torch::ones({}, torch::kFloat64), 0, 1, Balancing::kSqrt, y, paths,
                            forward, backward);
    EXPECT_TRUE(forward.isfinite().all().item<bool>());
    EXPECT_TRUE((y.sum(1) == 1).all().item<bool>());
    return torch::bincount(paths.entry, {}, sites).to(torch::kFloat64) / chains;
  };
  torch::Tensor dominant = torch::zeros({sites});
  dominant[33] = 80;
  EXPECT_EQ(draw(dominant)[33].item<double>(), 1);
  torch::Tensor holes = torch::zeros({sites});
  holes[3] = NAN;
  holes[40] = INFINITY;
  holes[41] = -INFINITY;
  holes[5] = 2 * std::log(10.0);  // weight 10, 66 others of weight 1
  const torch::Tensor share = draw(holes);
  for (const int64_t site : {3, 40, 41}) EXPECT_EQ(share[site].item<double>(), 0);
  const double p = 10.0 / 76;
  EXPECT_NEAR(share[5].item<double>(), p, 5 * std::sqrt(p * (1 - p) / chains));
}

// 65,537 entries of a permutation have more pairs than int32 numbers; no memory is read before
// that.
TEST(ExactPathTables, MorePairsThanHaveANumberAreRefused) {
  const int64_t sites = 65537, pairs = sites * (sites - 1) / 2;
  torch::Tensor y = torch::zeros({1}, torch::kInt64).expand({1, sites});
  const torch::Tensor table = torch::zeros({1}).expand({1, pairs});
  torch::Tensor log_q = torch::zeros({1}, torch::kFloat64);
  ops::ExactPathBuffers paths;
  try {
    ops::advance_exact_path(table, torch::zeros({2}, torch::kInt64), torch::arange(1),
                            torch::ones({}, torch::kFloat64), 0, 1, Balancing::kSqrt, y, paths,
                            log_q, log_q);
    ADD_FAILURE() << "accepted";
  } catch (const c10::Error& error) {
    EXPECT_NE(std::string(error.what()).find("2147516416 pairs of sites"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace isinglass::exact_path_test
