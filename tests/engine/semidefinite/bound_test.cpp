// The diagonal bounds against a general solver's values (data/semidefinite_reference.py draws the
// same matrices and made the numbers), their certificates, and closed forms.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "engine/semidefinite/diagonal_rules.h"
#include "io/error.h"

namespace isinglass::bound_test {
namespace {

// Values by data/semidefinite_reference.py. The lattice's are in closed form: 2 × the number of
// edges, and twice its largest eigenvalue (its two colours make W and −W similar).
constexpr double kDenseTrace = 985.836137, kDenseMax = 20.193750;
constexpr double kLatticeTrace = 1520, kLatticeMax = 7.910647;
constexpr double kGraphTrace = 1839.536004, kGraphMax = 22.292493;

// The generator of data/semidefinite_reference.py.
struct Generator {
  uint32_t state;
  uint32_t below(uint64_t n) {
    state = 1664525u * state + 1013904223u;
    return static_cast<uint32_t>(state * n >> 32);
  }
};

torch::Tensor lattice(int64_t side) {
  torch::Tensor w = torch::zeros({side * side, side * side}, torch::kFloat64);
  auto entry = w.accessor<double, 2>();
  for (int64_t i = 0; i < side * side; ++i) {
    if (i % side + 1 < side) entry[i][i + 1] = entry[i + 1][i] = 1;
    if (i + side < side * side) entry[i][i + side] = entry[i + side][i] = 1;
  }
  return w;
}

torch::Tensor barabasi_albert(int64_t nodes, int64_t attached) {
  Generator generator{7};
  torch::Tensor w = torch::zeros({nodes, nodes}, torch::kFloat64);
  auto entry = w.accessor<double, 2>();
  std::vector<int64_t> ends, targets;
  for (int64_t i = 0; i < attached; ++i) targets.push_back(i);
  for (int64_t node = attached; node < nodes; ++node) {
    for (const int64_t target : targets) {
      entry[node][target] = entry[target][node] = 1;
      ends.insert(ends.end(), {target, node});
    }
    targets.clear();
    while (static_cast<int64_t>(targets.size()) < attached) {
      const int64_t candidate = ends[generator.below(ends.size())];
      if (std::find(targets.begin(), targets.end(), candidate) == targets.end()) {
        targets.push_back(candidate);
      }
    }
  }
  return w;
}

torch::Tensor dense(int64_t n) {
  Generator generator{3};
  torch::Tensor w = torch::zeros({n, n}, torch::kFloat64);
  auto entry = w.accessor<double, 2>();
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      entry[i][j] = entry[j][i] = generator.below(1 << 20) / 524288.0 - 1;
    }
  }
  return w;
}

double objective(const torch::Tensor& w, const DiagonalBound& bound, DiagonalRule rule) {
  if (rule == DiagonalRule::kTrace) return bound.diagonal.sum().item<double>();
  if (rule == DiagonalRule::kShift) return bound.diagonal.max().item<double>();
  return torch::linalg_eigvalsh(w + torch::diag(bound.diagonal)).max().item<double>();
}

// D ⪰ 0, W + D ⪰ 0 to 1e-6 by a whole eigendecomposition; the root; value and gap as reported.
void expect_certified(const torch::Tensor& w, const DiagonalBound& bound, DiagonalRule rule) {
  const torch::Tensor sum = w + torch::diag(bound.diagonal);
  EXPECT_GE(bound.diagonal.min().item<double>(), 0);
  EXPECT_GE(torch::linalg_eigvalsh(sum).min().item<double>(), -1e-6);
  EXPECT_LT((bound.root.t().mm(bound.root) - sum).abs().max().item<double>(),
            1e-12 * (1 + sum.abs().max().item<double>()));
  EXPECT_NEAR(bound.value, objective(w, bound, rule), 1e-9 * (1 + bound.value));
  EXPECT_GE(bound.gap, 0);
}

TEST(Semidefinite, DenseMatrixAgainstASolver) {
  const torch::Tensor w = dense(100);
  for (const auto& [rule, value] :
       {std::pair{DiagonalRule::kTrace, kDenseTrace}, std::pair{DiagonalRule::kMax, kDenseMax}}) {
    const DiagonalBound bound = bound_diagonal(w, rule);
    expect_certified(w, bound, rule);
    EXPECT_NEAR(bound.value, value, 1e-3 * value);
    EXPECT_LT(bound.gap, 1e-3 * value);
  }
}

TEST(SemidefiniteLong, GraphsAgainstASolver) {
  struct Case {
    torch::Tensor w;
    double trace, max;
  };
  for (const auto& [w, trace, max] : {Case{lattice(20), kLatticeTrace, kLatticeMax},
                                      Case{barabasi_albert(400, 4), kGraphTrace, kGraphMax}}) {
    for (const DiagonalRule rule : {DiagonalRule::kTrace, DiagonalRule::kMax}) {
      const DiagonalBound bound = bound_diagonal(w, rule);
      const double value = rule == DiagonalRule::kTrace ? trace : max;
      SCOPED_TRACE(fmt::format("value {} gap {}", bound.value, bound.gap));
      expect_certified(w, bound, rule);
      EXPECT_NEAR(bound.value, value, 1e-3 * value);
      EXPECT_LT(bound.gap, 1e-3 * value);
    }
  }
}

// The bipartite lattice has D_ii = the degree of i: tr D = 2 × the number of edges.
TEST(SemidefiniteLong, TraceOf2500SitesInAMinute) {
  const torch::Tensor w = lattice(50);
  const auto start = std::chrono::steady_clock::now();
  const DiagonalBound bound = bound_diagonal(w, DiagonalRule::kTrace);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), 60);
  expect_certified(w, bound, DiagonalRule::kTrace);
  EXPECT_NEAR(bound.value, 4 * 50 * 49, 1e-3 * 4 * 50 * 49);
}

TEST(Semidefinite, ClosedForms) {
  // For W = −diag, only D = −W is feasible; a positive semidefinite W needs no D.
  const torch::Tensor diagonal = torch::tensor({100.0, 1.0, 2.0, 3.0}, torch::kFloat64);
  for (const DiagonalRule rule : {DiagonalRule::kShift, DiagonalRule::kMax, DiagonalRule::kTrace}) {
    SCOPED_TRACE(static_cast<int>(rule));
    const DiagonalBound negative = bound_diagonal(-torch::diag(diagonal), rule);
    const torch::Tensor least = rule == DiagonalRule::kShift ? torch::full({4}, 100.0) : diagonal;
    EXPECT_LT((negative.diagonal - least).abs().max().item<double>(), 1e-3);
    expect_certified(-torch::diag(diagonal), negative, rule);
    for (const torch::Tensor& w : {torch::diag(diagonal), torch::zeros({4, 4}, torch::kFloat64)}) {
      const DiagonalBound none = bound_diagonal(w, rule);
      EXPECT_LT(none.diagonal.max().item<double>(), 1e-3);
      expect_certified(w, none, rule);
    }
  }
  // Two sites: v_1 = −v_2, so d = |W_12| each, less W_ii.
  const torch::Tensor pair = torch::tensor({{-0.5, 2.0}, {2.0, 0.25}}, torch::kFloat64);
  const torch::Tensor d = bound_diagonal(pair, DiagonalRule::kTrace).diagonal;
  EXPECT_NEAR(d[0].item<double>(), 2.5, 1e-3);
  EXPECT_NEAR(d[1].item<double>(), 1.75, 1e-3);
}

TEST(Semidefinite, TheLeastTraceIsLeast) {
  const torch::Tensor w = dense(60);
  const auto trace = [&](DiagonalRule rule) {
    return bound_diagonal(w, rule).diagonal.sum().item<double>();
  };
  EXPECT_LT(trace(DiagonalRule::kTrace), trace(DiagonalRule::kMax));
  EXPECT_LT(trace(DiagonalRule::kMax), trace(DiagonalRule::kShift));
}

// A block that does not reach the largest eigenvalue takes no more than its own least trace.
TEST(Semidefinite, TiesHaveTheLeastTrace) {
  const torch::Tensor large = dense(30), small = dense(20) / 10;
  const DiagonalBound whole = bound_diagonal(torch::block_diag({large, small}), DiagonalRule::kMax);
  const double own = bound_diagonal(small, DiagonalRule::kTrace).value;
  const double most = bound_diagonal(large, DiagonalRule::kMax).value;
  EXPECT_NEAR(whole.value, most, 2e-3 * most);
  EXPECT_LT(whole.diagonal.narrow(0, 30, 20).sum().item<double>(), 1.03 * own);
}

TEST(Semidefinite, LanczosFindsTheEnds) {
  const torch::Tensor w = dense(80), exact = torch::linalg_eigvalsh(w);
  const Spectrum spectrum = lanczos_spectrum(w);
  EXPECT_NEAR(spectrum.least, exact[0].item<double>(), 1e-9);
  EXPECT_NEAR(spectrum.most, exact[79].item<double>(), 1e-9);
}

TEST(Semidefinite, RefusesWhatIsNoCurvature) {
  const torch::Tensor w = dense(4);
  EXPECT_THROW(bound_diagonal(w.narrow(0, 0, 3), DiagonalRule::kShift), Error);
  EXPECT_THROW(bound_diagonal(w.triu(), DiagonalRule::kShift), Error);
  EXPECT_THROW(bound_diagonal(w * NAN, DiagonalRule::kShift), Error);
  EXPECT_THROW(gaussian_root(w, torch::zeros({4}, torch::kFloat64)), Error);
  EXPECT_THROW(gaussian_root(w, torch::full({4}, -1.0, torch::kFloat64)), Error);
  EXPECT_THROW(gaussian_root(w, torch::full({3}, 9.0, torch::kFloat64)), Error);
}

// No margin makes W + D positive definite.
TEST(Semidefinite, ADiagonalThatIsNotFiniteIsAFailure) {
  const torch::Tensor w = dense(4);
  for (const double value : {double{NAN}, double{INFINITY}}) {
    torch::Tensor d = torch::ones({4}, torch::kFloat64);
    d[2] = value;
    EXPECT_THROW(certify(w, d, spectral_norm(w)), NumericalError);
  }
}

}  // namespace
}  // namespace isinglass::bound_test
