// Standard instances: their parameters follow their definition, and depend on the seed alone.
#include "models/instances/instances.h"

#include <gtest/gtest.h>

#include <cmath>

#include "io/error.h"

namespace isinglass::instances_test {
namespace {

torch::Tensor buffer(const EnergyModel& model, const std::string& name) {
  const auto buffers = model.named_buffers(), parameters = model.named_parameters();
  return buffers.contains(name) ? buffers[name] : parameters[name];
}

TEST(Instances, AreMadeFromTheirSeedAlone) {
  const auto theta = [](const std::string& text) {
    return buffer(*make_instance(text), "theta").clone();
  };
  EXPECT_TRUE(theta("bernoulli").equal(theta("bernoulli:seed=0,sites=100")));
  EXPECT_FALSE(theta("bernoulli").equal(theta("bernoulli:seed=1")));
  // N(0, σ²): mean and variance within 5 standard errors of 20 000 numbers.
  const torch::Tensor many = theta("bernoulli:sites=20000,sigma=2").to(torch::kFloat64);
  EXPECT_NEAR(many.mean().item<double>(), 0, 5 * 2 / std::sqrt(20000.0));
  EXPECT_NEAR(many.var().item<double>(), 4, 5 * 4 * std::sqrt(2 / 20000.0));
}

TEST(Instances, LatticesHaveTheirEdgesOnce) {
  EXPECT_EQ(buffer(*make_instance("ising-grid:side=5"), "edges").size(0), 40);
  EXPECT_EQ(buffer(*make_instance("ising-grid:side=5,periodic=1"), "edges").size(0), 50);
  const torch::Tensor edges = buffer(*make_instance("ising-grid:side=5,periodic=1"), "edges");
  const torch::Tensor degree = torch::bincount(edges.flatten());
  EXPECT_TRUE((degree == 4).all().item<bool>());
}

TEST(Instances, FieldsAreHighInTheInnerSquare) {
  const torch::Tensor field =
      buffer(*make_instance("ising-field:side=8,mu=2,width=0.5"), "field").view({8, 8});
  const torch::Tensor inner = field.slice(0, 2, 6).slice(1, 2, 6);
  EXPECT_GE(inner.min().item<double>(), 1.5);
  EXPECT_LE(inner.max().item<double>(), 2.5);
  EXPECT_EQ((field > 0).sum().item<int64_t>(), 16);
}

TEST(Instances, ScaleFreeGraphsGrowByFourEdges) {
  const torch::Tensor edges = buffer(*make_instance("ising-scale-free"), "edges");
  EXPECT_EQ(edges.size(0), 396 * 4);
  EXPECT_TRUE((edges.select(1, 0) < edges.select(1, 1)).all().item<bool>());
  EXPECT_EQ(std::get<0>(torch::unique_dim(edges, 0)).size(0), 396 * 4);
  EXPECT_GT(torch::bincount(edges.flatten()).max().item<int64_t>(), 20);  // hubs
}

TEST(Instances, PosteriorFieldsAreNoisyObservations) {
  const double mu = 3, sigma = 3;
  const torch::Tensor field =
      buffer(*make_instance("ising-posterior:side=100,mu=3,sigma=3"), "field").view({100, 100});
  const torch::Tensor inner = field.slice(0, 25, 75).slice(1, 25, 75);  // y·mu/σ², y ~ N(mu, σ²)
  EXPECT_NEAR(inner.mean().item<double>(), mu * mu / (sigma * sigma), 5 * mu / sigma / 50);
}

TEST(Instances, HiddenPathsExplainTheirObservations) {
  const auto model = make_instance("fhmm:steps=2000,chains=1,sigma=0.1,init=0.5,stay=0.9");
  const torch::Tensor y = buffer(*model, "y"), w = buffer(*model, "W"), b = buffer(*model, "b");
  const torch::Tensor distance = (y.unsqueeze(1) - b - w).abs();
  EXPECT_LT(std::get<0>(distance.min(1)).max().item<double>(), 0.5);  // 5 σ
  const torch::Tensor value = distance.argmin(1);
  const double stays =
      (value.slice(0, 1) == value.slice(0, 0, 1999)).to(torch::kFloat64).mean().item<double>();
  EXPECT_NEAR(stays, 0.9, 5 * std::sqrt(0.09 / 1999));
}

// exp(−U) of all states sums to 1, as of every network; parents come before their children.
TEST(Instances, BayesianNetworksAreNormalised) {
  for (const char* text : {"bayesnet:variables=9,sigma=3", "bayesnet:variables=6,values=3,seed=4",
                           "bayesnet:variables=5,parents=0"}) {
    const auto model = make_instance(text);
    const StateSpace space = model->space();
    const auto states =
        static_cast<int64_t>(std::pow(space.categories, static_cast<double>(space.sites)));
    const torch::Tensor number = torch::arange(states).unsqueeze(1);
    std::vector<int64_t> weights;
    for (int64_t i = 0, w = 1; i < space.sites; ++i, w *= space.categories) weights.push_back(w);
    const torch::Tensor x =
        number.div(torch::tensor(weights), "floor").remainder(space.categories).to(torch::kUInt8);
    EXPECT_NEAR((-model->energy(x)).exp().sum().item<double>(), 1, 1e-10) << text;
  }
  const auto energy = [](const char* text) {
    return make_instance(text)->energy(torch::ones({1, 100}, torch::kUInt8)).item<double>();
  };
  EXPECT_EQ(energy("bayesnet"), energy("bayesnet:seed=0"));
  EXPECT_NE(energy("bayesnet"), energy("bayesnet:seed=1"));
}

TEST(Instances, GaussiansHaveTheSpectrumOfTheirDefinition) {
  const torch::Tensor rotated =
      buffer(*make_instance("lattice-gaussian-rotated:sites=12,l=10"), "precision");
  const torch::Tensor spectrum = std::get<0>(torch::linalg_eigh(rotated));
  EXPECT_NEAR(spectrum[11].item<double>(), std::sqrt(10.0), 1e-9);
  EXPECT_NEAR(spectrum[0].item<double>(), std::sqrt(10.0) / 10, 1e-9);
  const torch::Tensor cycle =
      buffer(*make_instance("lattice-gaussian-cycle:sites=12,l=10"), "precision");
  EXPECT_EQ((cycle != 0).sum().item<int64_t>(), 36);
  EXPECT_NE(cycle[0][11].item<double>(), 0);
  EXPECT_NEAR(cycle[0][0].item<double>(), 11.0 / 10, 1e-9);
}

// Rows' variances Λ_i²·1.25/4 over many rows; y = 1 more often where the first seven sum up high.
TEST(Instances, RegressionsAreDrawnFromTheirModel) {
  EXPECT_EQ(make_instance("logistic")->space().sites, 100);
  const torch::Tensor x = buffer(*make_instance("logistic:sites=8,rows=20000"), "signed");
  const double square = x.select(1, 7).square().mean().item<double>();  // a row's sign drops out
  const double expected = std::exp(1.5) * 1.25 / 4;
  EXPECT_NEAR(square, expected, 5 * expected * std::sqrt(2 / 20000.0));
  // The likelihood of the true coefficients is better than that of none.
  const auto model = make_instance("logistic:sites=8,rows=20000");
  torch::Tensor beta = torch::zeros({2, 8}, torch::kUInt8);
  beta[0].slice(0, 0, 7).fill_(1);
  const torch::Tensor u = model->energy(beta);
  EXPECT_LT(u[0].item<double>(), u[1].item<double>());
}

TEST(Instances, MistakesAreNamed) {
  for (const char* text : {"isng", "parity:u", "parity:v=1", "parity:u=x", "parity:sites=0",
                           "parity:sites=2.5", "parity:u=inf", "permutation:sites=1",
                           "categorical:categories=1", "ising-scale-free:nodes=4,attached=4",
                           "potts-field:side=2,categories=300", "fhmm:stay=1"}) {
    EXPECT_THROW(make_instance(text), Error) << text;
  }
  for (const char* value : {"yes", "2", "0.5"}) {
    EXPECT_ERROR(make_instance(std::string("ising-grid:periodic=") + value),
                 std::string("instance ising-grid: periodic is '") + value + "'; 0 or 1 is needed");
  }
  EXPECT_ERROR(make_instance("ising-grid:side=1"),
               "side is '1'; a whole number from 2 to 1000000 is needed");
}

// The estimate holds the tensors of the model, and at most twenty times as much.
TEST(Instances, SayHowMuchMemoryTheyNeed) {
  for (const char* text :
       {"ising-grid:side=100", "ising-grid:side=100,periodic=1", "ising-field:side=100",
        "ising-posterior:side=100", "potts-field:side=100,categories=8",
        "categorical:sites=1000,categories=50", "permutation:sites=250"}) {
    const auto model = make_instance(text);
    double held = 0;
    for (const torch::Tensor& tensor : model->parameters()) held += tensor.nbytes();
    for (const torch::Tensor& tensor : model->buffers()) held += tensor.nbytes();
    EXPECT_GE(instance_bytes(text), held) << text;
    EXPECT_LE(instance_bytes(text), 20 * held) << text;
  }
  EXPECT_GT(instance_bytes("ising-grid:side=100000"), 8e10);
  EXPECT_EQ(instance_bytes("bernoulli"), 0);
}

}  // namespace
}  // namespace isinglass::instances_test
