// Dense lattices are evaluated by matrix products with the bits of sums over the neighbours, and
// their weights are rounded only where no digits are lost.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/ops/lattice.h"
#include "models/lattice/ising.h"

namespace isinglass::dense_lattice_test {
namespace {

torch::Tensor all_pairs(int64_t sites) {
  return torch::triu_indices(sites, sites, 1).t().contiguous();
}

// Has normal weights or whole ones.
ops::LatticeTensors complete_lattice(int64_t sites, bool whole) {
  const auto weights = [&](at::IntArrayRef shape) {
    const torch::Tensor normal = 3 * torch::randn(shape, torch::kFloat64);
    return whole ? normal.round() : normal;
  };
  const torch::Tensor edges = all_pairs(sites);
  return lattice_from_edges(weights({sites, 2}), edges, weights({edges.size(0)}), 1.5);
}

TEST(DenseLattice, ProductsGiveTheBitsOfSums) {
  torch::manual_seed(1);
  for (const bool whole : {false, true}) {
    for (const int64_t sites : {20, 67}) {
      SCOPED_TRACE(testing::Message() << (whole ? "whole " : "normal ") << sites);
      ops::LatticeTensors lattice = complete_lattice(sites, whole);
      ASSERT_TRUE(lattice.exact_sums);
      const ops::ProductTensors products = ops::make_products(lattice);
      ASSERT_EQ(products.coupling.scalar_type(), whole ? torch::kFloat32 : torch::kFloat64);
      for (const int64_t chains : {1, 9, 40}) {
        const torch::Tensor x = torch::randint(0, 2, {chains, sites}, torch::kUInt8);
        for (const bool one_hot : {false, true}) {
          for (const LocalTable what : {LocalTable::kGradient, LocalTable::kDifferences}) {
            ops::Scratch scratch;
            torch::Tensor energy[2], table[2], alone[2];
            for (int by_products : {0, 1}) {
              lattice.products = by_products ? products : ops::ProductTensors{};
              energy[by_products] = torch::empty({chains}, torch::kFloat64);
              alone[by_products] = torch::empty({chains}, torch::kFloat64);
              table[by_products] = torch::empty({chains, sites * (one_hot ? 2 : 1)});
              ops::lattice_evaluate(lattice, x, one_hot, what, energy[by_products],
                                    table[by_products], scratch);
              ops::lattice_evaluate(lattice, x, one_hot, what, alone[by_products], {}, scratch);
            }
            EXPECT_TRUE(energy[1].equal(energy[0]));
            EXPECT_TRUE(alone[1].equal(energy[0]));
            EXPECT_TRUE(table[1].equal(table[0]));
          }
        }
      }
    }
  }
}

TEST(DenseLattice, AgreesWithAutograd) {
  torch::manual_seed(2);
  const int64_t sites = 30;
  const torch::Tensor edges = all_pairs(sites);
  IsingModel model(edges, torch::randn({edges.size(0)}, torch::kFloat64),
                   torch::randn({sites}, torch::kFloat64));
  const torch::Tensor x = torch::randint(0, 2, {7, sites}, torch::kUInt8);
  Evaluation at;
  model.evaluate(x, at);
  const torch::Tensor value = x.to(torch::kFloat64).requires_grad_();
  const torch::Tensor energy = model.energy(value);
  const torch::Tensor gradient = torch::autograd::grad({energy.sum()}, {value})[0];
  EXPECT_TRUE(at.energy.allclose(energy, 1e-12, 1e-11));
  EXPECT_TRUE(at.gradient.allclose(gradient.to(torch::kFloat32), 1e-5, 1e-5));
}

TEST(DenseLattice, AHugeFieldTakesNoDigitsOfOtherSites) {
  const int64_t sites = 20;
  const torch::Tensor edges = all_pairs(sites);
  torch::Tensor unary = torch::zeros({sites, 2}, torch::kFloat64);
  unary[3][1] = -1e17;  // The site is 1 in all samples.
  const torch::Tensor coupling = torch::full({edges.size(0)}, 0.1, torch::kFloat64);
  const ops::LatticeTensors lattice = lattice_from_edges(unary, edges, coupling, 0);
  EXPECT_FALSE(lattice.exact_sums);
  EXPECT_TRUE(lattice.coupling.eq(0.1).all().item<bool>());
  // Numbers that rounding leaves as they are may differ as much as they like.
  unary[3][1] = -std::ldexp(1, 40);
  EXPECT_TRUE(lattice_from_edges(unary, edges, coupling.sign(), 0).exact_sums);
}

// The meta device stands for a GPU, where an annealed lattice is made from one that is rounded.
TEST(DenseLattice, OnAnotherDeviceStaysAsItIs) {
  ops::LatticeTensors lattice = complete_lattice(20, true);
  ASSERT_TRUE(lattice.exact_sums);
  lattice.unary = lattice.unary.to(torch::kMeta);
  lattice.coupling = lattice.coupling.to(torch::kMeta);
  ops::round_for_exact_sums(lattice);
  EXPECT_FALSE(lattice.exact_sums);
}

TEST(DenseLattice, IsBinaryFiniteAndOfManyNeighbours) {
  const int64_t sites = 20;
  const torch::Tensor edges = all_pairs(sites),
                      coupling = torch::ones({edges.size(0)}, torch::kFloat64);
  torch::Tensor unary = torch::zeros({sites, 2}, torch::kFloat64);
  const auto exact = [&](const torch::Tensor& u, const torch::Tensor& c, int64_t count) {
    return lattice_from_edges(u, edges.slice(0, 0, count), c.slice(0, 0, count), 0).exact_sums;
  };
  const int64_t all = edges.size(0);
  EXPECT_TRUE(exact(unary, coupling, all));
  EXPECT_FALSE(exact(unary, coupling, all / 2));
  EXPECT_FALSE(exact(unary, 0 * coupling, all));
  EXPECT_FALSE(exact(torch::zeros({sites, 3}, torch::kFloat64), coupling, all));
  EXPECT_FALSE(exact(unary, coupling.view({-1, 1, 1}).expand({-1, 2, 2}), all));
  unary[5][0] = NAN;
  EXPECT_FALSE(exact(unary, coupling, all));
}

}  // namespace
}  // namespace isinglass::dense_lattice_test
