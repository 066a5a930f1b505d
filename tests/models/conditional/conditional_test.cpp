// Conditional models agree with the model that they condition: energies, gradients, differences and
// one-site conditionals at states whose fixed sites have their values are those of the free sites.
#include "models/conditional/conditional.h"

#include <gtest/gtest.h>

#include <cmath>

#include "io/error.h"
#include "models/lattice/lattice_model.h"
#include "tests/models/samples.h"

namespace isinglass::conditional_test {
namespace {

using torch::Tensor;

constexpr int64_t kRows = 3, kEach = 4;

// Values that fix the given sites at a state, −1 elsewhere.
Tensor fixed_at(const Tensor& state, const std::vector<int64_t>& sites) {
  Tensor given = torch::full({state.size(0)}, -1, torch::kInt64);
  for (const int64_t site : sites) given[site] = state[site].to(torch::kInt64);
  return given;
}

// The values of fixed sites to try: one site, every other one, all but one; the same for all
// chains, other values for each row, and other sites for each row.
std::vector<std::pair<std::string, Tensor>> cases(const StateSpace& space) {
  const Tensor states = some_states(space, kRows);
  std::vector<int64_t> half, most;
  for (int64_t i = 0; i < space.sites; ++i) {
    if (i % 2 == 0) half.push_back(i);
    if (i != 1) most.push_back(i);
  }
  const std::vector<int64_t> one = {space.sites - 1};
  std::vector<Tensor> values,
      sites = {fixed_at(states[0], one), fixed_at(states[1], half), fixed_at(states[2], most)};
  for (int64_t row = 0; row < kRows; ++row) values.push_back(fixed_at(states[row], half));
  return {{"one", sites[0]},
          {"half", sites[1]},
          {"most", sites[2]},
          {"rows of values", torch::stack(values)},
          {"rows of sites", torch::stack(sites)}};
}

class Conditional : public testing::TestWithParam<ModelSample> {
 protected:
  // Calls f(joint, conditional, fixed, x_A, energy of spare entries) for every case.
  template <class F>
  void for_each_case(F f) {
    const auto joint = load_sample(GetParam());
    for (const auto& [name, given] : cases(joint->space())) {
      SCOPED_TRACE(name);
      const FixedSites fixed(joint->space(), given, "the values", torch::kCPU);
      const auto model = conditional_model(joint, fixed);
      EXPECT_EQ(model->space(), fixed.space());
      const int64_t chains = fixed.rows() * kEach;
      Tensor spare = torch::zeros({chains}, torch::kFloat64);
      if (fixed.spare().defined()) {
        const double each = std::log(static_cast<double>(joint->space().categories));
        spare = (fixed.spare().sum(1).to(torch::kFloat64) * each).repeat_interleave(kEach);
      }
      f(*joint, *model, fixed, some_states(model->space(), chains), spare);
    }
  }
  double tolerance() const { return GetParam().lattice ? 1e-12 : 2e-5; }
};

void expect_close(const Tensor& found, const Tensor& expected, double relative) {
  ASSERT_EQ(found.sizes(), expected.sizes());
  if (expected.numel() == 0) return;
  const double largest = std::max(1.0, expected.abs().max().item<double>());
  EXPECT_LE((found.to(torch::kFloat64) - expected).abs().max().item<double>(), relative * largest);
}

TEST_P(Conditional, EnergiesAndGradientsAreThoseOfTheFreeSites) {
  for_each_case([&](EnergyModel& joint, EnergyModel& model, const FixedSites& fixed,
                    const Tensor& x, const Tensor& spare) {
    const Tensor whole = fixed.complete(x);
    const Tensor differs = fixed.restrict(whole) != x;
    EXPECT_FALSE((fixed.spare().defined()
                      ? differs & fixed.spare().logical_not().repeat_interleave(kEach, 0)
                      : differs)
                     .any()
                     .item<bool>());
    const Tensor kept = fixed.values().repeat_interleave(kEach, 0);
    const Tensor free = torch::zeros_like(whole, torch::kBool)
                            .scatter(1, fixed.sites().repeat_interleave(kEach, 0), true);
    if (!fixed.spare().defined()) {
      EXPECT_FALSE((whole != kept).logical_and(free.logical_not()).any().item<bool>());
    }
    Evaluation at, again;
    joint.evaluate_energy(whole, at);
    model.evaluate_energy(x, again);
    expect_close(again.energy, at.energy + spare, tolerance());
    expect_close(model.energy(x).detach().to(torch::kFloat64), at.energy + spare, tolerance());
    if (!joint.differentiable()) return;
    const EnergyGrad own = model.energy_and_grad(x);
    const Tensor gradient = fixed.restrict(joint.energy_and_grad(whole).gradient);
    expect_close(own.energy, at.energy + spare, tolerance());
    expect_close(own.gradient, gradient, 1e-4);
    // Autograd through the relaxed form finds the same gradient.
    const Tensor relaxed = model.relaxed(x).clone().requires_grad_();
    model.energy(relaxed).sum().backward();
    expect_close(relaxed.grad(), gradient, 1e-4);
  });
}

TEST_P(Conditional, MovesAreEvaluatedAsFromScratch) {
  for_each_case(
      [&](EnergyModel&, EnergyModel& model, const FixedSites&, const Tensor& x, const Tensor&) {
        if (!model.differentiable()) return;
        Evaluation at_x, moved, expected;
        model.evaluate(x, at_x);
        Tensor y = x.roll(1, 0);
        y.select(1, 0).copy_(x.select(1, 0));
        model.evaluate_moved(x, at_x, y, /*gradient=*/true, moved);
        model.evaluate(y, expected);
        expect_close(moved.energy, expected.energy, 1e-5);
        expect_close(moved.gradient, expected.gradient, 1e-4);
      });
}

TEST_P(Conditional, DifferencesAndConditionalsAreChangesOfEnergy) {
  for_each_case(
      [&](EnergyModel&, EnergyModel& model, const FixedSites&, const Tensor& x, const Tensor&) {
        const StateSpace space = model.space();
        Evaluation out;
        evaluate_differences(model, x, out);
        Tensor found, site = torch::zeros({x.size(0)}, torch::kInt64);
        for (int64_t i = 0; i < space.sites; ++i) {
          site.fill_(i);
          if (model.conditionals()) {
            found = torch::empty({x.size(0), space.categories}, torch::kFloat64);
            model.conditionals()->conditional_differences(x, site, found);
          }
          for (int64_t k = 0; k < space.categories; ++k) {
            Tensor y = x.clone();
            y.select(1, i).fill_(k);
            Evaluation at;
            model.evaluate_energy(y, at);
            const Tensor change = at.energy - out.energy;
            if (space.kind != StateKind::kBinary) {
              expect_close(out.differences.select(1, i).select(1, k), -change, 1e-4);
            } else {
              const Tensor flips = x.select(1, i) != k;
              expect_close(out.differences.select(1, i).masked_select(flips),
                           -change.masked_select(flips), 1e-4);
            }
            if (model.conditionals()) expect_close(found.select(1, k), change, 1e-5);
          }
        }
      });
}

std::vector<ModelSample> discrete_samples() {
  return samples_that([](auto&, EnergyModel& model) {
    const StateSpace space = model.space();
    const bool large = space.sites * space.categories > 30;  // the time of a deep network
    return space.discrete() && space.kind != StateKind::kPermutation && !large;
  });
}

INSTANTIATE_TEST_SUITE_P(Models, Conditional, testing::ValuesIn(discrete_samples()),
                         [](const auto& info) { return info.param.label; });

TEST(FixedSites, SayWhatDoesNotFit) {
  const StateSpace binary{StateKind::kBinary, 3, 2};
  const auto fix = [&](const Tensor& given, StateSpace space) {
    FixedSites(space, given, "fixed.pt", torch::kCPU);
  };
  const auto error = [&](const Tensor& given, StateSpace space) -> std::string {
    try {
      fix(given, space);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  const Tensor good = torch::tensor({-1, 0, 1});
  EXPECT_EQ(error(good, binary), "");
  EXPECT_EQ(error(torch::tensor({NAN, 0.f, 1.f}), binary), "");
  EXPECT_NE(error(torch::tensor({-1, 0, 2}), binary).find("the values of a site are 0 to 1"),
            std::string::npos);
  EXPECT_NE(error(torch::tensor({NAN, 0.5f, 1.f}), binary).find("whole numbers are needed"),
            std::string::npos);
  EXPECT_NE(error(torch::tensor({0, 0, 1}), binary).find("every site is fixed"), std::string::npos);
  EXPECT_NE(error(torch::tensor({-1, 0}), binary).find("[N, 3] is needed"), std::string::npos);
  EXPECT_NE(error(good > 0, binary).find("truth values"), std::string::npos);
  EXPECT_NE(error(good, {StateKind::kPermutation, 3, 3}).find("permutation"), std::string::npos);
  EXPECT_NE(error(torch::tensor({{NAN, 0.f, 1.f}, {NAN, NAN, 1.f}}), {StateKind::kContinuous, 3})
                .find("discrete states"),
            std::string::npos);
}

}  // namespace
}  // namespace isinglass::conditional_test
