// Functions that register nothing are told apart by their energies.
#include <gtest/gtest.h>

#include <functional>

#include "models/combined/gradient_override.h"
#include "models/combined/product.h"
#include "models/identity.h"
#include "tests/support/scratch.h"

namespace isinglass::own_function_test {
namespace {

using Energy = std::function<torch::Tensor(const torch::Tensor&)>;

class Function : public EnergyModel, public OwnFunction {
 public:
  Function(StateSpace space, Energy energy) : space_(space), energy_(std::move(energy)) {}

  std::string kind_name() const override { return "mine"; }
  StateSpace space() const override { return space_; }
  torch::Tensor energy(const torch::Tensor& x) override { return energy_(relaxed(x)); }
  torch::Tensor energies_twice(const torch::Tensor& x) const override {
    states = x;
    if (!energy_) return {};
    const auto once = [&] { return energy_(relaxed(x)).to(torch::kFloat64); };
    return torch::stack({once(), once()});
  }

  mutable torch::Tensor states;

 private:
  StateSpace space_;
  Energy energy_;
};

const StateSpace kBinary{StateKind::kBinary, 10};
const std::string kWhat = "the checkpoint";

std::shared_ptr<Function> linear(double beta, StateSpace space = kBinary) {
  return std::make_shared<Function>(space, [beta](const torch::Tensor& x) {
    const torch::Tensor flat = x.flatten(1);
    return flat.matmul(torch::linspace(-1, 1, flat.size(1)) * beta);
  });
}

void check_against(const EnergyModel& saved, const EnergyModel& own) {
  const PtDict dict = function_identity(saved, torch::kCPU);
  require_same_functions(&dict, own, torch::kCPU, kWhat);
}

PtDict of_other_machine(PtDict dict) {
  dict.front().second = PtValue{std::string("a machine that nobody has")};
  return dict;
}

TEST(OwnFunction, IsKnownByItsEnergies) {
  for (const StateSpace& space :
       {kBinary, StateSpace{StateKind::kCategorical, 5, 3}, StateSpace{StateKind::kOrdered, 5, 7},
        StateSpace{StateKind::kContinuous, 4}, StateSpace{StateKind::kPermutation, 6, 6}}) {
    EXPECT_NO_THROW(check_against(*linear(1, space), *linear(1, space)));
    EXPECT_ERROR(check_against(*linear(1, space), *linear(1.0001, space)),
                 "the checkpoint belongs to a run with another function than model mine, whose "
                 "energy U at a fixed state was");
    EXPECT_EQ(functions_sha256(*linear(1, space), torch::kCPU),
              functions_sha256(*linear(1, space), torch::kCPU));
    EXPECT_NE(functions_sha256(*linear(1, space), torch::kCPU),
              functions_sha256(*linear(1.0001, space), torch::kCPU));
  }
}

// Random bits only have nearly equal sums: a term that needs many sites at one value would act on
// none of them.
TEST(OwnFunction, IsAskedNearTheEndsOfTheValuesToo) {
  const auto function = linear(1, {StateKind::kBinary, 200});
  function_identity(*function, torch::kCPU);
  const torch::Tensor share = function->states.to(torch::kFloat64).mean(1);
  EXPECT_LT(share.min().item<double>(), .2);
  EXPECT_GT(share.max().item<double>(), .8);
  EXPECT_EQ(share.gt(.35).logical_and(share.lt(.65)).sum().item<int64_t>(), 8);
}

// The other arithmetic rounds sums differently.
TEST(OwnFunction, IsTheSameByOtherArithmeticWithinRounding) {
  const PtDict there = of_other_machine(function_identity(*linear(1), torch::kCPU));
  EXPECT_NO_THROW(require_same_functions(&there, *linear(1 + 1e-6), torch::kCPU, kWhat));
  EXPECT_ERROR(require_same_functions(&there, *linear(1.01), torch::kCPU, kWhat),
               "another function");
}

TEST(OwnFunction, UndefinedEnergiesAreValuesToo) {
  const auto root = [](double shift) {
    return Function(kBinary, [shift](const torch::Tensor& x) { return (x.sum(1) - shift).log(); });
  };
  EXPECT_NO_THROW(check_against(root(5), root(5)));
  EXPECT_ERROR(check_against(root(5), root(6)), "another function");
}

TEST(OwnFunction, ThatVariesIsKnownByItsParameters) {
  const auto varying = [](double size) {
    return std::make_shared<Function>(
        kBinary, [size, call = std::make_shared<int>(0)](const torch::Tensor& x) {
          return x.sum(1).to(torch::kFloat64) + size * ++*call;
        });
  };
  EXPECT_NO_THROW(check_against(*varying(1e-6), *varying(1e-6)));  // rounding, as of atomic sums
  EXPECT_ERROR(check_against(*varying(1e-6), *linear(1)), "another function");
  EXPECT_ERROR(check_against(*varying(1), *varying(1)),
               "it cannot be checked whether the checkpoint belongs to model mine, which has no "
               "parameters: its energies are not the same from call to call");
  EXPECT_ERROR(check_against(*varying(1), *linear(1)), "were not the same from call to call");
  EXPECT_EQ(functions_sha256(*varying(1), torch::kCPU), std::nullopt);
  const auto trained = varying(1);
  trained->register_parameter("w", torch::ones(3));
  EXPECT_NO_THROW(check_against(*trained, *trained));
}

TEST(OwnFunction, ThatCannotBeCalledThereIsRefused) {
  EXPECT_ERROR(check_against(Function(kBinary, nullptr), Function(kBinary, nullptr)),
               "its energies at fixed states cannot be computed");
}

// A checkpoint of an earlier version holds no energies.
TEST(OwnFunction, WithParametersGoesOnFromACheckpointWithoutEnergies) {
  EXPECT_ERROR(require_same_functions(nullptr, *linear(1), torch::kCPU, kWhat),
               "it cannot be checked whether the checkpoint belongs to model mine, which has no "
               "parameters: it holds none of its energies");
  const auto trained = linear(1);
  trained->register_parameter("w", torch::ones(3));
  EXPECT_NO_THROW(require_same_functions(nullptr, *trained, torch::kCPU, kWhat));
}

TEST(OwnFunction, IsFoundWithinOthers) {
  const auto product = [](double beta) { return ProductModel({linear(1), linear(beta)}); };
  EXPECT_EQ(own_functions(product(1)).size(), 2);
  EXPECT_NO_THROW(check_against(product(2), product(2)));
  EXPECT_ERROR(check_against(product(2), product(3)), "another function");
  EXPECT_ERROR(check_against(product(2), *linear(1)), "another number of functions");
  const GradientOverrideModel guided(linear(1), linear(2)), otherwise(linear(1), linear(3));
  EXPECT_ERROR(check_against(guided, otherwise), "another function");
}

}  // namespace
}  // namespace isinglass::own_function_test
