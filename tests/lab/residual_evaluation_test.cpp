// Evaluations of residual models: the standard error of the base's log Z is part of the errors and
// of the verdict, and importance weights of the base agree with enumeration.
#include <gtest/gtest.h>

#include <cmath>

#include "lab/evaluation/likelihood_evaluation.h"
#include "models/energies.h"
#include "models/network/mlp.h"
#include "models/network/rbm.h"
#include "tests/support/scratch.h"
#include "tests/support/training_fixture.h"

namespace isinglass::residual_evaluation_test {
namespace {

constexpr int64_t kSites = 5;

double log_z_of(EnergyModel& model) {
  return torch::logsumexp(-energies(model, all_states(kSites), torch::kCPU), 0).item<double>();
}

std::shared_ptr<ResidualModel> residual(double error) {
  torch::manual_seed(7);
  const auto base = std::make_shared<RbmModel>(0.4 * torch::randn({24, kSites}),
                                               0.5 * torch::randn({kSites}), torch::randn({24}));
  const auto network = std::make_shared<MlpModel>(StateSpace{StateKind::kBinary, kSites, 2});
  const torch::NoGradGuard no_grad;
  for (torch::Tensor& p : network->parameters()) p.mul_(3);
  return std::make_shared<ResidualModel>(
      base, network, ResidualOptions{.bound = 4, .log_z = KnownLogZ{log_z_of(*base), error}});
}

struct Evaluated {
  nlohmann::ordered_json json;
  std::string text, warning;
};

Evaluated evaluated(double error, const std::string& method) {
  const Scratch folder;
  EvaluateSpec spec{.sampler = {"surrogate", {}}, .chains = 100, .temperatures = 60, .seed = 2};
  spec.method = method;
  spec.reverse = method == "ais";
  if (method == "ais") spec.schedule = "linear";
  spec.bracket = 1;
  LikelihoodEvaluation evaluation(spec, {}, {.model = residual(error)});
  EXPECT_TRUE(evaluation.run(folder / "checkpoint.pt"));
  return {evaluation.json(), evaluation.text(), evaluation.warning()};
}

TEST(ResidualEvaluation, TheBasesErrorIsPartOfTheErrors) {
  for (const std::string method : {"ais", "tempering"}) {
    SCOPED_TRACE(method);
    const Evaluated exact = evaluated(0, method), uncertain = evaluated(0.3, method);
    for (const char* key : {"log_z_se", "log_z_upper_se", "log_z_bidirectional_se"}) {
      if (!exact.json.contains(key)) continue;
      EXPECT_NEAR(uncertain.json[key].get<double>(),
                  std::sqrt(std::pow(exact.json[key].get<double>(), 2) + 0.09), 1e-9)
          << key;
    }
    EXPECT_EQ(uncertain.json["log_z"], exact.json["log_z"]);
    EXPECT_EQ(uncertain.json["log_z_base_se"], 0.3);
    EXPECT_EQ(uncertain.json["verdict"], exact.json["verdict"]);
    EXPECT_NE(uncertain.text.find("  log Z of the base "), std::string::npos) << uncertain.text;
    EXPECT_NE(uncertain.text.find("± 0.300\n"), std::string::npos) << uncertain.text;
  }
}

TEST(ResidualEvaluation, IsClosedOnlyIfTheBaseIs) {
  const Evaluated closed = evaluated(0.5, "ais");
  EXPECT_EQ(closed.json["verdict"], "closed") << closed.json["reason"];
  EXPECT_EQ(closed.warning, "");
  const Evaluated wide = evaluated(0.6, "ais"), unknown = evaluated(NAN, "ais");
  EXPECT_EQ(wide.json["verdict"], "open");
  EXPECT_EQ(wide.json["reason"], "standard error 0.6 nats of the base's log Z");
  EXPECT_EQ(wide.warning, "the verdict will be open: standard error 0.6 nats of the base's log Z");
  EXPECT_EQ(unknown.json["verdict"], "open");
  EXPECT_EQ(unknown.json["reason"], "the standard error of the base's log Z is not known");
}

TEST(ResidualEvaluation, WeightsOfTheBaseAgreeWithEnumeration) {
  const Evaluated found = evaluated(0, "ais");
  ASSERT_TRUE(found.json.contains("log_z_by_base_weights"));
  const double error = found.json["log_z_by_base_weights_se"].get<double>();
  EXPECT_LT(error, 0.1);
  EXPECT_NEAR(found.json["log_z_by_base_weights"].get<double>(), log_z_of(*residual(0)), 4 * error);
  EXPECT_GE(found.json["base_weight_ess"].get<double>(), 100);
  EXPECT_NE(found.text.find("  log Z by weights of 5000 draws of the base "), std::string::npos);
}

}  // namespace
}  // namespace isinglass::residual_evaluation_test
