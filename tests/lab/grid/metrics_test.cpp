// Metrics of a cell's run, from given draws.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/diagnostics/ess.h"
#include "lab/grid/metrics/cell_run.h"

namespace isinglass::metrics_test {
namespace {

constexpr int64_t kDraws = 200, kChains = 12;

class EssMetric : public testing::Test {
 protected:
  Estimate measure(const torch::Tensor& energy, int64_t group) {
    Recorder recorder({kDraws, kChains, 4, torch::kUInt8}, {}, /*keep_samples=*/false);
    for (int64_t draw = 0; draw < kDraws; ++draw) {
      ChainState state;
      state.current.energy = energy[draw];
      recorder.on_draw(draw, state);
    }
    const DiagnosticSummary ess = summarise(tfp_ess(recorder.statistic()));
    const nlohmann::ordered_json summary = {
        {"chains", kChains},
        {"ess", {{"mean", ess.mean}, {"std", ess.std}, {"per_step", ess.mean / kDraws}}}};
    const Metric& metric = find_metric("ess_per_step", "metrics");
    return metric.measure({sampling_, recorder, summary, {}, group});
  }

  torch::Tensor noise_ = [] {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(5);
    return torch::randn({kDraws, kChains}, generator, torch::kFloat64);
  }();
  Sampling sampling_ = Sampling({.model = {.instance = "ising-grid:side=2,coupling=0.3"},
                                 .sampler = {"rwm"},
                                 .chains = kChains,
                                 .steps = kDraws},
                                {.device = torch::kCPU});
};

// Eleven chains are stuck, each in another state: the ESS is a twelfth of the twelfth chain's, and
// no more certain than that.
TEST_F(EssMetric, StuckChainsCountAsNothing) {
  torch::Tensor energy = torch::arange(kChains, torch::kFloat64).expand({kDraws, kChains}).clone();
  energy.select(1, 7).copy_(noise_.select(1, 7));
  const double own = tfp_ess(noise_.narrow(1, 7, 1))[0].item<double>();
  const Estimate ess = measure(energy, 1);
  EXPECT_NEAR(ess.value, own / kChains / kDraws, 1e-12);
  EXPECT_NEAR(ess.error, ess.value, 1e-12);  // one value and eleven zeros
  EXPECT_EQ(measure(torch::arange(kChains, torch::kFloat64).expand({kDraws, kChains}), 1).value, 0);
}

// All chains of a group are equal: there are three independent values, not twelve.
TEST_F(EssMetric, TheErrorIsOfGroups) {
  torch::Tensor groups = noise_.narrow(1, 0, 3).clone();
  groups.select(1, 1).copy_(noise_.select(1, 1).cumsum(0));  // so that their ESS differ
  const torch::Tensor energy = groups.repeat_interleave(4, 1);
  const torch::Tensor ess = tfp_ess(groups) / kDraws;
  const Estimate coupled = measure(energy, 4);
  EXPECT_NEAR(coupled.value, ess.mean().item<double>(), 1e-12);
  EXPECT_NEAR(coupled.error, ess.std().item<double>() / std::sqrt(3.0), 1e-12);
  EXPECT_LT(measure(energy, 1).error, 0.6 * coupled.error);
}

}  // namespace
}  // namespace isinglass::metrics_test
