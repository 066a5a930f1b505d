// Instances whose least energy or largest cut is sought: their definition, and by enumeration that
// what is said to be optimal is.
#include <gtest/gtest.h>

#include <cmath>

#include "io/error.h"
#include "io/sha256.h"
#include "models/instances/instances.h"
#include "models/lattice/graph_problem.h"

namespace isinglass::optimisation_test {
namespace {

std::shared_ptr<GraphProblem> problem(const std::string& text) {
  auto made = std::dynamic_pointer_cast<GraphProblem>(make_instance(text));
  EXPECT_TRUE(made) << text;
  return made;
}

torch::Tensor buffer(GraphProblem& model, const std::string& name) {
  return model.named_buffers()[name];
}

torch::Tensor degrees(GraphProblem& model) {
  return torch::bincount(buffer(model, "edges").flatten(), {}, model.space().sites);
}

torch::Tensor all_states(int64_t sites) {
  return torch::arange(int64_t{1} << sites)
      .unsqueeze(1)
      .bitwise_right_shift(torch::arange(sites))
      .bitwise_and(1)
      .to(torch::kUInt8);
}

bool simple(GraphProblem& model) {
  const torch::Tensor edges = buffer(model, "edges");
  return std::get<0>(torch::unique_dim(edges, 0)).size(0) == edges.size(0) &&
         (edges.select(1, 0) < edges.select(1, 1)).all().item<bool>();
}

// Σ_e w_e [x_u ≠ x_v] in float64, of all states.
torch::Tensor cuts(GraphProblem& model, const torch::Tensor& x) {
  const torch::Tensor edges = buffer(model, "edges");
  return (x.index_select(1, edges.select(1, 0)) != x.index_select(1, edges.select(1, 1)))
      .to(torch::kFloat64)
      .matmul(buffer(model, "weight"));
}

// Σ_e w_e s_u s_v in float64, of all states.
torch::Tensor products(GraphProblem& model, const torch::Tensor& x) {
  return buffer(model, "weight").sum() - 2 * cuts(model, x);
}

// An instance never changes: neither its graph nor its weights.
TEST(OptimisationInstances, AreWhatTheyWere) {
  const std::vector<std::pair<std::string, std::string>> known = {
      {"erdos-renyi", "929d1e2b419b48d20793092b17cfdbe7036c9ad5cafe2298554f2f3664fdb1db"},
      {"erdos-renyi:vertices=50,density=0.5,signs=1,seed=3",
       "9a796d229c3b6418aacac1718cafd992f4989affa2d952f906fc3738fe685405"},
      {"random-regular", "eb09063b8d8164aae2b4e9b9ac46f59cd76aecbf889cc939724986309a27a136"},
      {"random-regular:vertices=60,degree=9,signs=1,seed=3",
       "f30cd7910a3c9a9597fe4ae70be66b408e1644b35e232e70b076ea4bf5a504c3"},
      {"sherrington-kirkpatrick",
       "6cd270601ee49075e72696fca79144da3a4dd9a39526f800b486f5c23f9bff4b"},
      {"edwards-anderson", "030f8282dedca7329777bd273c29c7390caea2b423577dc89e11bf3bcb4f2e2b"},
      {"edwards-anderson:side=5,dimension=3,normal=1,seed=2",
       "32e0ec270cca5b3424dd896c0662061da5a064c7503cd1efe137104ae8d11a98"},
      {"planted", "478d715d5083aa403a1436800fc3a8e5aedd5e9ad4e5cb265eed1cc0a7f26111"},
      {"planted:side=12,dimension=2,loops=1.5,shortest=4,seed=7",
       "30676f748cfee6627d57ab8ffc17fcbb3e3902edb74e4e810049cc681ad3c575"},
  };
  for (const auto& [text, hash] : known) {
    const auto model = problem(text);
    EXPECT_EQ(sha256(NamedTensors{{"edges", buffer(*model, "edges")},
                                  {"weight", buffer(*model, "weight")}}),
              hash)
        << text;
  }
}

TEST(OptimisationInstances, ErdosRenyiGraphsHaveIndependentEdges) {
  const auto model = problem("erdos-renyi:vertices=600,density=0.3,seed=4");
  const torch::Tensor edges = buffer(*model, "edges");
  ASSERT_TRUE(simple(*model));
  const double pairs = 600 * 599 / 2.0, sigma = std::sqrt(pairs * 0.3 * 0.7);
  EXPECT_NEAR(static_cast<double>(edges.size(0)), 0.3 * pairs, 5 * sigma);
  // Numbers of neighbours are binomial: their mean square deviation has the standard error
  // variance·√(2/600), up to a correlation of 1/600 between vertices.
  const double variance = 599 * 0.3 * 0.7;
  const torch::Tensor deviation = degrees(*model).to(torch::kFloat64) - 599 * 0.3;
  EXPECT_NEAR(deviation.square().mean().item<double>(), variance,
              5 * variance * std::sqrt(2 / 600.0) * 1.5);
  // The pairs at the ends of the numbering are drawn like all others.
  int64_t first = 0, last = 0;
  for (int seed = 0; seed < 400; ++seed) {
    const auto small = problem("erdos-renyi:vertices=4,density=0.3,seed=" + std::to_string(seed));
    const torch::Tensor list = buffer(*small, "edges");
    for (int64_t e = 0; e < list.size(0); ++e) {
      const int64_t u = list[e][0].item<int64_t>(), v = list[e][1].item<int64_t>();
      first += u == 0 && v == 1;
      last += u == 2 && v == 3;
    }
  }
  const double error = std::sqrt(400 * 0.3 * 0.7);
  EXPECT_NEAR(static_cast<double>(first), 120, 5 * error);
  EXPECT_NEAR(static_cast<double>(last), 120, 5 * error);
}

TEST(OptimisationInstances, RandomRegularGraphsAreSimpleAndRegular) {
  for (const auto& [text, degree] : std::vector<std::pair<std::string, int64_t>>{
           {"random-regular", 3},
           {"random-regular:vertices=8,degree=7", 7},  // the complete graph
           {"random-regular:vertices=10,degree=8,seed=5", 8},
           {"random-regular:vertices=2,degree=1", 1},
           {"random-regular:vertices=501,degree=20", 20}}) {
    const auto model = problem(text);
    EXPECT_TRUE(simple(*model)) << text;
    EXPECT_TRUE((degrees(*model) == degree).all().item<bool>()) << text;
    EXPECT_TRUE((buffer(*model, "weight") == 1).all().item<bool>()) << text;
  }
  // The number of triangles of a random cubic graph has the limit Poisson(2³/6).
  double triangles = 0;
  for (int seed = 0; seed < 200; ++seed) {
    const auto model = problem("random-regular:vertices=100,seed=" + std::to_string(seed));
    const torch::Tensor edges = buffer(*model, "edges");
    torch::Tensor joined = torch::zeros({100, 100}, torch::kFloat64);
    joined.index_put_({edges.select(1, 0), edges.select(1, 1)}, 1.0);
    joined = joined + joined.t();
    triangles += joined.matmul(joined).mul(joined).sum().item<double>() / 6;
  }
  // A finite graph has 4/3 + O(1/n) triangles; 10/100 allows for that.
  EXPECT_NEAR(triangles / 200, 8 / 6.0, 5 * std::sqrt(8 / 6.0 / 200) + 0.1);
}

TEST(OptimisationInstances, SignsAreEquallyLikely) {
  for (const char* text :
       {"erdos-renyi:vertices=400,density=0.2,signs=1",
        "random-regular:vertices=4000,degree=6,signs=1", "edwards-anderson:side=80"}) {
    const auto model = problem(text);
    const torch::Tensor weight = buffer(*model, "weight");
    EXPECT_TRUE((weight.abs() == 1).all().item<bool>()) << text;
    EXPECT_NEAR(weight.mean().item<double>(), 0, 5 / std::sqrt(static_cast<double>(weight.size(0))))
        << text;
  }
}

TEST(OptimisationInstances, SherringtonKirkpatrickCouplingsHaveTheVarianceOneOverN) {
  const auto model = problem("sherrington-kirkpatrick:spins=300");
  const torch::Tensor weight = buffer(*model, "weight");
  ASSERT_EQ(weight.size(0), 300 * 299 / 2);
  const auto count = static_cast<double>(weight.size(0));
  EXPECT_NEAR(weight.mean().item<double>(), 0, 5 / std::sqrt(300 * count));
  EXPECT_NEAR(weight.square().mean().item<double>(), 1 / 300.0, 5 / 300.0 * std::sqrt(2 / count));
  // Fourth moment of N(0, 1): 3, with the variance 105 − 9.
  EXPECT_NEAR((weight * std::sqrt(300.0)).pow(4).mean().item<double>(), 3,
              5 * std::sqrt(96 / count));
}

TEST(OptimisationInstances, EdwardsAndersonLatticesArePeriodic) {
  for (int dimension = 1; dimension <= 4; ++dimension) {
    const auto model =
        problem("edwards-anderson:side=3,normal=1,dimension=" + std::to_string(dimension));
    EXPECT_EQ(model->space().sites, static_cast<int64_t>(std::pow(3, dimension)));
    EXPECT_TRUE(simple(*model));
    EXPECT_TRUE((degrees(*model) == 2 * dimension).all().item<bool>()) << dimension;
  }
  const auto model = problem("edwards-anderson:side=80,normal=1");
  const torch::Tensor weight = buffer(*model, "weight");
  const auto count = static_cast<double>(weight.size(0));
  EXPECT_NEAR(weight.mean().item<double>(), 0, 5 / std::sqrt(count));
  EXPECT_NEAR(weight.square().mean().item<double>(), 1, 5 * std::sqrt(2 / count));
}

// All states: the energies are the sums of their definition, and the planted energy is the least.
TEST(OptimisationInstances, EnergiesOfAllStatesAndPlantedOptima) {
  for (const char* text :
       {"erdos-renyi:vertices=10,density=0.5,signs=1", "random-regular:vertices=10,degree=4"}) {
    const auto model = problem(text);
    const torch::Tensor x = all_states(10);
    EXPECT_TRUE(torch::equal(model->energy(x), -cuts(*model, x))) << text;
    EXPECT_FALSE(model->optimum()) << text;
  }
  for (const char* text : {"sherrington-kirkpatrick:spins=9", "edwards-anderson:side=3,normal=1"}) {
    const auto model = problem(text);
    const torch::Tensor x = all_states(9);
    EXPECT_TRUE(torch::allclose(model->energy(x), products(*model, x), 1e-12, 1e-12)) << text;
    EXPECT_TRUE(model->minimises()) << text;
    EXPECT_FALSE(model->optimum()) << text;
  }
  for (const char* loops : {"0.1", "0.3", "0.7", "1.3", "3"}) {
    for (const char* shape : {"side=4,dimension=2", "side=3,dimension=2,shortest=4"}) {
      for (int seed = 0; seed < 3; ++seed) {
        const std::string text =
            std::string("planted:") + shape + ",loops=" + loops + ",seed=" + std::to_string(seed);
        const auto model = problem(text);
        const torch::Tensor x = all_states(model->space().sites);
        const torch::Tensor energy = model->energy(x);
        EXPECT_TRUE(torch::equal(energy, products(*model, x))) << text;
        ASSERT_TRUE(model->optimum()) << text;
        EXPECT_EQ(energy.min().item<double>(), *model->optimum()) << text;
      }
    }
  }
}

// Every loop joins neighbours of the lattice, and frustrates: the energy without frustration would
// be lower.
TEST(OptimisationInstances, PlantedLoopsLieOnTheLatticeAndFrustrate) {
  const auto model = problem("planted:side=6,loops=0.3");
  const torch::Tensor edges = buffer(*model, "edges");
  EXPECT_TRUE(simple(*model));
  for (int64_t e = 0; e < edges.size(0); ++e) {
    int64_t u = edges[e][0].item<int64_t>(), v = edges[e][1].item<int64_t>(), apart = 0;
    for (int axis = 0; axis < 3; ++axis, u /= 6, v /= 6) {
      const int64_t distance = std::abs(u % 6 - v % 6);
      apart += std::min(distance, 6 - distance);
    }
    ASSERT_EQ(apart, 1) << e;
  }
  const double free = -buffer(*model, "weight").abs().sum().item<double>();
  EXPECT_GT(*model->optimum(), 0.95 * free);
  EXPECT_LT(*model->optimum(), 0.5 * free);
}

TEST(OptimisationInstances, GsetGraphsHaveAShortName) {
  const auto model = problem("gset:G11");
  EXPECT_EQ(model->space().sites, 800);
  EXPECT_TRUE(torch::equal(buffer(*model, "weight"), buffer(*problem("gset:graph=11"), "weight")));
  EXPECT_EQ(problem("gset:G48")->optimum(), 6000);
}

TEST(OptimisationInstances, MistakesAreNamed) {
  for (const char* text :
       {"gset:G68", "gset:G82", "gset:G", "gset:H1", "gset:graph=G1", "erdos-renyi:density=0",
        "erdos-renyi:vertices=100000,density=0.5", "random-regular:vertices=5,degree=3",
        "random-regular:vertices=4,degree=4", "sherrington-kirkpatrick:spins=1",
        "edwards-anderson:side=2", "edwards-anderson:side=1000,dimension=3",
        "planted:side=3,shortest=7", "planted:side=100,loops=100", "planted:loops=0",
        "planted:dimension=1"}) {
    EXPECT_THROW(make_instance(text), Error) << text;
  }
}

}  // namespace
}  // namespace isinglass::optimisation_test
