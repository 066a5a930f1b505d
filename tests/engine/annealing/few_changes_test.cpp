// Independent sites of which few differ from a reference: draws and log Z against enumeration, with
// rows of references, fixed sites and allowed values.
#include "engine/annealing/few_changes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/annealing/factorised.h"
#include "models/conditional/restriction.h"
#include "models/lattice/categorical.h"
#include "tests/engine/invariance.h"

namespace isinglass::annealing_few_changes_test {
namespace {

using torch::Tensor;

// Unequal probabilities, float64 [D, K], from 1/28 to 7/10.
Tensor unequal(int64_t sites, int64_t values) {
  const Tensor number = 3 * torch::arange(sites).unsqueeze(1) + 5 * torch::arange(values);
  const Tensor weight = 1 + number.remainder(7).to(torch::kFloat64);
  return weight / weight.sum(1, /*keepdim=*/true);
}

Factorised independent_sites(const StateSpace& space) {
  const Tensor p = unequal(space.sites, space.categories);
  return Factorised::independent(
      space.kind == StateKind::kBinary ? p.select(1, 1).to(torch::kFloat32) : p);
}

struct Case {
  const char* name;
  StateSpace whole;
  RestrictionOptions options;
};

Tensor integers(std::vector<int64_t> values, std::vector<int64_t> shape) {
  return torch::tensor(values).view(shape);
}

std::vector<Case> cases() {
  const StateSpace binary{StateKind::kBinary, 6, 2}, three{StateKind::kCategorical, 4, 3},
      five{StateKind::kCategorical, 5, 3};
  const Tensor bits = integers({1, 0, 1, 1, 0, 0}, {6}).to(torch::kUInt8);
  const Tensor values = integers({2, 0, 1, 1}, {4}).to(torch::kUInt8);
  const Tensor two = integers({2, 0, 1, 1, 0, 2, 1, 0}, {2, 4}).to(torch::kUInt8);
  const Tensor rows = integers({2, 0, 1, 1, 0, 0, 2, 1, 0, 1}, {2, 5}).to(torch::kUInt8);
  const Tensor allowed =
      integers({1, 0, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0}, {5, 3}).to(torch::kUInt8);
  // The first row fixes one site, at another value than the reference has; the second fixes two.
  const Tensor fixed = integers({-1, 1, -1, -1, -1, -1, -1, 1, -1, 1}, {2, 5});
  return {
      {"binary", binary, {.reference = bits, .within = 2}},
      {"binary, one change", binary, {.reference = bits, .within = 1}},
      {"binary, no limit", binary, {.reference = bits, .within = 6}},
      {"three values", three, {.reference = values, .within = 2}},
      {"two references", three, {.reference = two, .within = 1}},
      {"binary with fixed sites",
       binary,
       {.fixed = integers({-1, 0, 0, -1, -1, -1, 1, -1, -1, -1, -1, -1}, {2, 6}),
        .reference = bits,
        .within = 2}},
      {"allowed values", five, {.allowed = allowed, .reference = rows[0], .within = 2}},
      {"all of them", five, {.fixed = fixed, .allowed = allowed, .reference = rows, .within = 2}},
      {"a fixed site that uses up the changes",
       three,
       {.fixed = integers({0, -1, -1, -1}, {4}), .reference = values, .within = 1}},
  };
}

// Returns which states of the restricted model have at most k changes, bool [N, S], from the whole
// states alone.
Tensor inside(const Restriction& restriction, const Tensor& states, int64_t most) {
  const int64_t n = restriction.rows(), s = states.size(0);
  const Tensor whole = restriction.complete(states.repeat({n, 1}));
  return ((whole != restriction.reference(n * s)).sum(1) <= most).view({n, s});
}

// Restrictions and what they leave of a space with independent sites.
struct Limited {
  explicit Limited(const Case& c)
      : restriction(c.whole, c.options, torch::kCPU),
        space(restriction
                  .restrict_model(std::make_shared<CategoricalModel>(
                      torch::zeros({c.whole.sites, c.whole.categories})))
                  ->space()) {
    if (c.whole.kind == StateKind::kBinary) space.kind = StateKind::kBinary;
  }

  Restriction restriction;
  StateSpace space;
};

TEST(FewChanges, DrawsAndLogZAreThoseOfEnumeration) {
  constexpr int64_t kChains = 60000;
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Limited limited(c);
    const Factorised sites = independent_sites(limited.space);
    const Factorised start = sites.within(*limited.restriction.distance_limit());
    const reference::StateTable table(static_cast<int>(limited.space.sites),
                                      static_cast<int>(limited.space.categories));
    const Tensor states = states_of(table);
    const Tensor near = inside(limited.restriction, states, *c.options.within);
    const Tensor log_weight = torch::where(near, -sites.model().energy(states), -INFINITY);
    const int64_t rows = near.size(0), chains = kChains / rows;
    if (rows == 1) {
      EXPECT_NEAR(start.log_z(), torch::logsumexp(log_weight[0], 0).item<double>(), 1e-12);
    } else {
      EXPECT_TRUE(std::isnan(start.log_z()));
    }
    const Tensor ids = torch::arange(kChains);
    Tensor in_step = torch::empty({kChains, limited.space.sites}, torch::kUInt8);
    start.draw(torch::tensor({int64_t{5}, int64_t{3}}), ids, in_step);
    for (const Tensor& x : {start.sample(ids, 5), in_step}) {
      Tensor number = torch::zeros({kChains}, torch::kInt64);
      for (int64_t i = table.sites; i-- > 0;) {
        number = number * table.categories + x.select(1, i).to(torch::kInt64);
      }
      for (int64_t n = 0; n < rows; ++n) {
        const Tensor p = torch::softmax(log_weight[n], 0);
        const Tensor count =
            torch::bincount(number.narrow(0, n * chains, chains), {}, states.size(0))
                .to(torch::kFloat64);
        EXPECT_EQ(count.masked_select(near[n].logical_not()).sum().item<double>(), 0);
        const Tensor expected = chains * p, often = expected >= 10;
        const Tensor excess = (count - expected).abs() - 5 * (expected * (1 - p)).sqrt();
        EXPECT_LT(excess.masked_select(often).max().item<double>(), 1e-6);
      }
    }
  }
}

// The model is that of independent sites in the ball and forbids all else.
TEST(FewChanges, TheModelForbidsStatesOutside) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Limited limited(c);
    const Factorised sites = independent_sites(limited.space);
    const Factorised start = sites.within(*limited.restriction.distance_limit());
    const reference::StateTable table(static_cast<int>(limited.space.sites),
                                      static_cast<int>(limited.space.categories));
    const Tensor near = inside(limited.restriction, states_of(table), *c.options.within).view(-1);
    const Tensor x = states_of(table).repeat({limited.restriction.rows(), 1});
    const Tensor u = torch::where(near, sites.model().energy(x), INFINITY);
    Evaluation at;
    start.model().evaluate_energy(x, at);
    EXPECT_TRUE(torch::allclose(at.energy, u, 0, 1e-12));
    Evaluation moves;
    start.model().exact_differences()->evaluate_differences(x, moves);
    EXPECT_TRUE(torch::allclose(moves.energy, u, 0, 1e-12));
    const int64_t values = limited.space.categories;
    for (int64_t i = 0; i < limited.space.sites; ++i) {
      Tensor conditional = torch::empty({x.size(0), values}, torch::kFloat64);
      start.model().conditionals()->conditional_differences(
          x, torch::full({x.size(0)}, i, torch::kInt64), conditional);
      for (int64_t k = 0; k < values; ++k) {
        // The state with x_i = k comes so much later in the table of its row.
        const Tensor later =
            (k - x.select(1, i).to(torch::kInt64)) * static_cast<int64_t>(std::pow(values, i));
        const Tensor change = u.index_select(0, torch::arange(x.size(0)) + later) - u;
        // Chains are always inside.
        EXPECT_TRUE(torch::allclose(conditional.select(1, k).masked_select(near),
                                    change.masked_select(near), 0, 1e-9))
            << "site " << i << " value " << k;
        const bool binary = limited.space.kind == StateKind::kBinary;
        const Tensor moved = near & (x.select(1, i) != k);
        const Tensor difference =
            binary ? moves.differences.select(1, i) : moves.differences.select(1, i).select(1, k);
        EXPECT_TRUE(torch::allclose(difference.masked_select(moved).to(torch::kFloat64),
                                    -change.masked_select(moved), 1e-5, 1e-5))
            << "site " << i << " value " << k;
      }
    }
  }
}

// Each of 5000 sites is nearly sure to differ. Only three may, anywhere with the same probability.
TEST(FewChanges, AreExactWhereTheyAreUnlikely) {
  constexpr int64_t kSites = 5000, kMost = 3, kChains = 4000, kParts = 10;
  const StateSpace space{StateKind::kBinary, kSites, 2};
  const Tensor mean = torch::full({kSites}, 1 - 1e-6F);
  const Restriction restriction(
      space, {.reference = torch::zeros({kSites}, torch::kUInt8), .within = kMost}, torch::kCPU);
  const Factorised start = Factorised::bernoulli(mean).within(*restriction.distance_limit());
  const double odds = mean[0].item<double>() / (1 - mean[0].item<double>());
  double choices = 1, sum = 1;  // Σ_j binomial(D, j) odds^j
  for (int64_t j = 1; j <= kMost; ++j) {
    choices *= static_cast<double>(kSites - j + 1) / static_cast<double>(j) * odds;
    sum += choices;
  }
  EXPECT_NEAR(start.log_z(), std::log(sum), 1e-7);
  const Tensor x = start.sample(torch::arange(kChains), 4);
  EXPECT_TRUE((x.sum(1) == kMost).all().item<bool>());
  const Tensor part = x.view({kChains, kParts, -1}).sum(2).to(torch::kFloat64).sum(0);
  const double expected = static_cast<double>(kChains * kMost) / kParts;
  EXPECT_LT((part - expected).abs().max().item<double>(), 5 * std::sqrt(expected * 0.9));
}

// A limit far above the number of changes hardly matters, and its probability is 1.
TEST(FewChanges, AreIndependentSitesWhereTheLimitIsFar) {
  const Tensor p = torch::tensor({0.999, 0.001}, torch::kFloat64).expand({10000, 2});
  const DistanceLimit limit{torch::tensor({false, true}).expand({1, 10000, 2}).contiguous(),
                            torch::tensor({int64_t{200}})};
  const FewChanges few = few_changes(p, limit);
  EXPECT_NEAR(few.log_probability.item<double>(), 0, 1e-9);
  EXPECT_NEAR(few.sites.change[0][0][200].item<double>(), 0.001, 1e-12);
  EXPECT_EQ(few.sites.change[0][0][0].item<double>(), 0);
}

TEST(FewChanges, HashesAndRefusals) {
  const DistanceLimit limit{torch::tensor({false, true}).expand({1, 4, 2}).contiguous(),
                            torch::tensor({int64_t{2}})};
  DistanceLimit further = limit;
  further.most = torch::tensor({int64_t{3}});
  const StateSpace space{StateKind::kBinary, 4, 2};
  for (const Factorised& sites :
       {Factorised::uniform(space, torch::kCPU), Factorised::bernoulli(torch::full({4}, 0.3F))}) {
    const Factorised start = sites.within(limit);
    EXPECT_TRUE(start.limited() && start.has_draws());
    EXPECT_FALSE(start.independent() || start.uniform());
    EXPECT_NE(start.sha256(), sites.sha256());
    EXPECT_NE(start.sha256(), sites.within(further).sha256());
    EXPECT_EQ(start.sha256(), sites.within(limit).sha256());
    EXPECT_THROW(start.within(limit), Error);
  }
  EXPECT_THROW(Factorised::normal(4, 1, torch::kCPU).within(limit), Error);
  EXPECT_THROW(Restriction(space,
                           {.fixed = torch::tensor({1, 1, -1, -1}),
                            .reference = torch::zeros({4}, torch::kUInt8),
                            .within = 1},
                           torch::kCPU),
               Error);
}

}  // namespace
}  // namespace isinglass::annealing_few_changes_test
