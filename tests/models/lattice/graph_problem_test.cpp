// Graph problems against brute force over all subsets of small random graphs.
#include "models/lattice/graph_problem.h"

#include <gtest/gtest.h>

#include "io/files.h"
#include "models/registry.h"
#include "tests/support/scratch.h"

namespace isinglass::graph_problem_test {
namespace {

constexpr int kVertices = 9;

// A random graph, and what a subset of its vertices (as bits) is, by loops over pairs.
struct Brute {
  explicit Brute(int seed) {
    torch::manual_seed(seed);
    const torch::Tensor chosen = torch::rand({kVertices, kVertices}) < 0.4;
    const torch::Tensor weights = torch::randint(-3, 5, {kVertices, kVertices});
    for (int u = 0; u < kVertices; ++u) {
      for (int v = u + 1; v < kVertices; ++v) {
        adjacent[u][v] = chosen[u][v].item<bool>() || v == u + 1;
        weight[u][v] = weights[u][v].item<int>();
      }
    }
  }

  std::string file(bool weighted) const {
    std::string edges;
    int count = 0;
    for (int u = 0; u < kVertices; ++u) {
      for (int v = u + 1; v < kVertices; ++v) {
        if (!adjacent[u][v]) continue;
        edges += fmt::format("{} {}", v + 1, u + 1);
        edges += weighted ? fmt::format(" {}\n", weight[u][v]) : "\n";
        ++count;
      }
    }
    return fmt::format("{} {}\n{}", kVertices, count, edges);
  }

  template <class F>  // the sum of f(u, v) over pairs
  static double over_pairs(F f) {
    double sum = 0;
    for (int u = 0; u < kVertices; ++u) {
      for (int v = u + 1; v < kVertices; ++v) sum += f(u, v);
    }
    return sum;
  }
  static bool in(int subset, int vertex) { return subset >> vertex & 1; }

  double objective(const std::string& problem, int subset) const {
    if (problem != "maxcut") return __builtin_popcount(subset);
    return over_pairs([&](int u, int v) {
      return adjacent[u][v] && in(subset, u) != in(subset, v) ? weight[u][v] : 0;
    });
  }
  double violations(const std::string& problem, int subset) const {
    if (problem == "maxcut") return 0;
    return over_pairs([&](int u, int v) {
      return in(subset, u) && in(subset, v) && adjacent[u][v] == (problem == "mis");
    });
  }

  bool adjacent[kVertices][kVertices] = {};
  int weight[kVertices][kVertices] = {};
};

torch::Tensor all_subsets() {
  return torch::arange(1 << kVertices)
      .unsqueeze(1)
      .bitwise_right_shift(torch::arange(kVertices))
      .bitwise_and(1)
      .to(torch::kUInt8);
}

class GraphProblems : public testing::TestWithParam<std::string> {
 protected:
  std::shared_ptr<EnergyModel> load(const Brute& brute, std::optional<double> penalty = {}) {
    const Scratch scratch;
    write_file(scratch / "graph.txt", brute.file(GetParam() == "maxcut"));
    return load_model(GetParam(), {.weights = scratch / "graph.txt", .penalty = penalty});
  }
};

// All are sums of halves and small whole numbers: exact in double precision.
TEST_P(GraphProblems, ValuesEnergiesGradientsAndDifferencesOfAllSubsets) {
  for (const int seed : {1, 2, 3}) {
    const Brute brute(seed);
    const std::optional<double> penalty =
        GetParam() == "maxcut" ? std::nullopt : std::optional(2.5);
    const auto model = load(brute, penalty);
    auto& problem = dynamic_cast<GraphProblem&>(*model);
    const torch::Tensor x = all_subsets();
    const torch::Tensor objective = problem.objective(x), violations = problem.violations(x);
    Evaluation out;
    problem.evaluate(x, out);
    problem.evaluate_differences(x, out);
    for (int s = 0; s < 1 << kVertices; ++s) {
      EXPECT_EQ(objective[s].item<double>(), brute.objective(GetParam(), s));
      EXPECT_EQ(violations[s].item<double>(), brute.violations(GetParam(), s));
      const auto energy = [&](int subset) {
        return penalty.value_or(0) * brute.violations(GetParam(), subset) -
               brute.objective(GetParam(), subset);
      };
      EXPECT_EQ(out.energy[s].item<double>(), energy(s));
      for (int i = 0; i < kVertices; ++i) {
        const double with = energy(s | 1 << i), without = energy(s & ~(1 << i));
        EXPECT_EQ(out.gradient[s][i].item<float>(), with - without);
        EXPECT_EQ(out.differences[s][i].item<float>(), energy(s) - energy(s ^ 1 << i));
      }
    }
  }
}

// With the penalty by default.
TEST_P(GraphProblems, LocalMinimaAreFeasibleAndTheLeastIsOptimal) {
  const Brute brute(4);
  const auto model = load(brute);
  Evaluation at;
  const torch::Tensor x = all_subsets();
  evaluate_differences(*model, x, at);
  double best = -1e9;
  for (int s = 0; s < 1 << kVertices; ++s) {
    const bool feasible = brute.violations(GetParam(), s) == 0;
    if (at.differences[s].max().item<float>() <= 0) {
      EXPECT_TRUE(feasible) << s;
    }
    if (feasible) best = std::max(best, brute.objective(GetParam(), s));
  }
  EXPECT_EQ(-at.energy.min().item<double>(), best);
}

TEST_P(GraphProblems, OnlyConstraintsHaveAPenalty) {
  const Brute brute(5);
  if (GetParam() == "maxcut") {
    EXPECT_ERROR(load(brute, 2.0), "penalty is 2, but model maxcut has no constraints");
  } else {
    EXPECT_EQ(dynamic_cast<GraphProblem&>(*load(brute, 2.0)).penalty(), 2);
  }
}

INSTANTIATE_TEST_SUITE_P(All, GraphProblems, testing::Values("maxcut", "mis", "maxclique"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace isinglass::graph_problem_test
