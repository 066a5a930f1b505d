// Scans of ensembles leave Π_i exp(−U_{β_i}) invariant, for every sampler that can be tempered:
// draws from that product, by enumeration, are draws from it after a scan. Deliberate mistakes
// break this.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/annealing/tempered_model.h"
#include "engine/registry.h"
#include "engine/tempering/parallel_tempering.h"
#include "kernels/ops/jump.h"
#include "kernels/ops/tempering.h"
#include "tests/engine/tempering/product_law.h"
#include "tests/engine/transitions.h"

namespace isinglass::tempering_exactness_test {
namespace {

constexpr int64_t kEnsembles = 12000, kMany = 60000;
const std::vector<double> kBetas = {0, 0.25, 0.7, 1};

// A tiny target and its path, by enumeration.
struct Path {
  TinyTarget tiny;
  Target target;
  Factorised start;
  torch::Tensor start_energy;  // float64 [K^D]
  torch::Tensor energy;

  explicit Path(const TinyTarget& t)
      : tiny(t),
        target(t.enumerate()),
        start(t.categories == 2 ? Factorised::bernoulli(torch::tensor({0.3f, 0.6f}))
                                : Factorised::uniform(TinyModel(t).space(), torch::kCPU)) {
    energy = torch::tensor(target.energy, torch::kFloat64);
    start_energy = torch::zeros_like(energy);
    if (t.categories != 2) return;
    for (int64_t s = 0; s < energy.numel(); ++s) {
      for (int i = 0; i < 2; ++i) {
        const double p = i == 0 ? 0.3f : 0.6f;
        if (target.table.states[s][i]) start_energy[s] += std::log((1 - p) / p);
      }
    }
  }

  ProductLaw product(const std::vector<double>& betas = kBetas) const {
    std::vector<torch::Tensor> laws;
    for (const double beta : betas) {
      laws.push_back(torch::softmax(-(start_energy + beta * (energy - start_energy)), 0));
    }
    return ProductLaw(laws);
  }
  torch::Tensor draw(int64_t ensembles) const { return product().draw(ensembles); }
  double deviation(const torch::Tensor& index) const { return product().deviation(index); }
  torch::Tensor states(const torch::Tensor& index) const {  // uint8 [C, R, D]
    const torch::Tensor all = states_tensor(target, 1);
    return all.index_select(0, index.reshape(-1)).view({index.size(0), index.size(1), -1});
  }
};

// Draws after scans from the step number on.
torch::Tensor after_scan(const Path& path, const ParallelTempering& tempering, EnergyModel& model,
                         const torch::Tensor& scales, int64_t step, int64_t ensembles,
                         int64_t scans = 1) {
  const torch::Tensor index = path.draw(ensembles), x = path.states(index);
  ChainState state = tempering.init(model, x.select(1, 0), torch::arange(ensembles));
  tempering.restore(state, {{"betas", torch::tensor(kBetas, torch::kFloat64)}, {"scales", scales}});
  tempering.set_rung_states(state, x);
  StepParams params = tempering.params(11, torch::kCPU, step);
  for (int64_t t = 0; t < scans; ++t) tempering.step(model, state, params);
  const torch::Tensor after = tempering.rung_states(state);
  EXPECT_GT((after != x).sum().item<int64_t>(), 0);
  EXPECT_TRUE(torch::equal(after.select(1, 3), state.x));
  return state_index(after.view({-1, x.size(2)}), path.tiny.categories).view_as(index);
}

// The scales of the rungs, some of them others than the sampler's own.
torch::Tensor unequal_scales(const Sampler& sampler) {
  const auto scales = sampler.scales();
  torch::Tensor table = torch::empty({4, static_cast<int64_t>(scales.size())}, torch::kFloat64);
  for (int64_t k = 0; k < table.size(1); ++k) {
    const bool radius = scales[k].name == "radius";
    for (int64_t i = 0; i < 4; ++i) {
      table[i][k] = radius ? 1.0 + static_cast<double>(i % 2)
                           : scales[k].initial * (i % 2 ? 0.6 : 1.0 + 0.2 * static_cast<double>(i));
    }
  }
  return table;
}

SamplerOptions options_of(const SamplerEntry& entry) {
  SamplerOptions options;
  if (entry.option("radius") && entry.name != "nb") options.radius = 2;
  if (entry.name == "nb") options.radius = 1.5;
  if (entry.option("sigma")) {
    options.sigma = 1.5;
    options.alpha = 0.5;
  }
  if (entry.option("block")) options.block = 2;
  return options;
}

class TemperedExactness : public testing::TestWithParam<std::string> {};

TEST_P(TemperedExactness, AScanLeavesTheProductInvariant) {
  const SamplerEntry& entry = find_sampler(GetParam());
  for (const int categories : {2, 3}) {
    for (const double strength : {0.5, 3.0}) {
      const Path path(TinyTarget{2, categories, strength});
      TinyModel model(path.tiny);
      if (!entry.fits(model)) continue;
      for (const int64_t step : {0, 1}) {
        SCOPED_TRACE(fmt::format("K {} strength {} step {}", categories, strength, step));
        TemperedModel tempered(model, &path.start, torch::kCPU, TemperedModel::Form::kParts, 2);
        auto local = make_sampler(entry.name, options_of(entry), tempered);
        torch::Tensor scales = unequal_scales(*local);
        if (entry.name == "nb") scales.clamp_max_(1.5);
        const ParallelTempering tempering(model, std::move(local), path.start, {.rungs = 4});
        EXPECT_LT(
            std::abs(path.deviation(after_scan(path, tempering, model, scales, step, kEnsembles))),
            5);
      }
    }
  }
}

// The ladder has no exact draws: rung 0 is like the others.
TEST(TemperedLadder, MayBeginAboveZero) {
  const std::vector<double> betas = {0.4, 0.7, 1};
  const Path path(TinyTarget{2, 2, 3.0});
  TinyModel model(path.tiny);
  const ProductLaw product = path.product(betas);
  TemperedModel tempered(model, &path.start, torch::kCPU, TemperedModel::Form::kParts, 2);
  auto local = make_sampler("dlp", {}, tempered);
  const torch::Tensor scales = unequal_scales(*local).slice(0, 0, 3);
  const ParallelTempering tempering(model, std::move(local), path.start,
                                    {.rungs = 3, .lowest = 0.4});
  const torch::Tensor index = product.draw(kMany), x = path.states(index);
  ChainState state = tempering.init(model, x.select(1, 0), torch::arange(kMany));
  tempering.restore(state, {{"betas", torch::tensor(betas, torch::kFloat64)}, {"scales", scales}});
  tempering.set_rung_states(state, x);
  StepParams params = tempering.params(11, torch::kCPU, 0);
  for (int64_t t = 0; t < 4; ++t) tempering.step(model, state, params);
  const torch::Tensor after = tempering.rung_states(state);
  EXPECT_GT((after != x).sum().item<int64_t>(), 0);
  const torch::Tensor now = state_index(after.view({-1, x.size(2)}), 2).view_as(index);
  EXPECT_LT(std::abs(product.deviation(now)), 5);
  EXPECT_TRUE(std::isnan(tempering.report(state, params).log_z.value));
}

std::vector<std::string> temperable_samplers() {
  std::vector<std::string> names;
  for (const SamplerEntry& entry : sampler_registry()) {
    const bool discrete = entry.kinds.front() == StateKind::kBinary;
    const bool learns_one = entry.name.find("lsb") != std::string::npos || entry.site_matrices > 0;
    if (discrete && !learns_one && !entry.on_base) names.push_back(entry.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, TemperedExactness, testing::ValuesIn(temperable_samplers()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// The mistake: the reverse proposal of a chain has the scale of another rung.
class ForgetfulJump : public Sampler {
 public:
  explicit ForgetfulJump(bool forgets) : forgets_(forgets) { set_identity("forgetful", {}); }
  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override {
    const JumpRule rule = JumpRule::kInterpolation;
    Workspace& w = state.workspace;
    ops::draw_jump(state.x, state.current.gradient, params.rng, state.chain_ids, params.scale, 2,
                   rule, Balancing::kSqrt, w.y, w.log_forward);
    evaluate_proposal(model, state);
    const torch::Tensor scale = forgets_ ? params.scale.roll(1, 0) : params.scale;
    ops::score_jump(w.y, w.proposed.gradient, state.x, scale, 2, rule, Balancing::kSqrt,
                    w.log_backward);
    accept(state, params);
    return {.evaluations = 1};
  }
  Needs needs() const override { return Needs::kGradient; }
  std::vector<Scale> scales() const override { return {{"tau", 1.0, 1e-6, 1e6}}; }

 protected:
  void prepare(const EnergyModel&, ChainState& state) const override {
    state.workspace.log_forward = torch::zeros_like(state.current.energy);
    state.workspace.log_backward = torch::zeros_like(state.current.energy);
  }

 private:
  bool forgets_;
};

TEST(TemperedMistakes, AnotherRungsScaleInTheReverseProposalIsSeen) {
  const Path path(TinyTarget{2, 2, 3.0});
  TinyModel model(path.tiny);
  for (const bool forgets : {false, true}) {
    const ParallelTempering tempering(model, std::make_unique<ForgetfulJump>(forgets), path.start,
                                      {.rungs = 4});
    const torch::Tensor scales = torch::tensor({0.3, 5.0, 0.3, 5.0}, torch::kFloat64).view({4, 1});
    const double deviation =
        path.deviation(after_scan(path, tempering, model, scales, 0, kMany, 6));
    if (forgets) {
      EXPECT_GT(deviation, 7);
    } else {
      EXPECT_LT(std::abs(deviation), 5);
    }
  }
}

// One round of swaps only, of draws from the product: as it is, and with the sign of V reversed.
struct Round {
  ops::RungTensors rungs;
  ops::RungChainTensors at;

  Round(const Path& path, const torch::Tensor& index, int64_t step, bool turned) {
    const int64_t c = index.size(0), r = index.size(1), b = c * r;
    const auto real = torch::kFloat64;
    const auto energies = [&](const torch::Tensor& e) { return e.index_select(0, index.view(-1)); };
    rungs = {torch::tensor(kBetas, real), torch::arange(r, real).view({r, 1})};
    at.chain = torch::arange(b).view({c, r});
    at.beta = torch::zeros({b}, real);
    at.scale = torch::zeros({b, 1}, real);
    at.energy = torch::zeros({b}, real);
    at.start = energies(turned ? path.energy : path.start_energy);
    at.target = energies(turned ? path.start_energy : path.energy);
    ops::SwapSums sums{torch::zeros({c, r - 1}, real),      torch::zeros({c, r}, real),
                       torch::zeros({b}, torch::kInt64),    torch::zeros({c}, torch::kInt64),
                       torch::zeros({1, r}, torch::kInt16), torch::zeros({0, c, r - 1, 2}, real)};
    Statistics chains = Statistics::create(b, torch::kCPU),
               counted = Statistics::create(c, torch::kCPU);
    const torch::Tensor states = path.states(index).view({b, -1});
    torch::Tensor x = states.slice(0, 0, c).clone(), energy = torch::zeros({c}, real);
    ops::TopTensors top{states, x, energy, 1};
    ops::swap_rungs(rungs, at, sums, top, chains, counted,
                    torch::tensor({5, static_cast<int>(step)}, torch::kInt64), torch::arange(c));
  }

  torch::Tensor on_rungs(const torch::Tensor& index) const {
    return index.view(-1).index_select(0, at.chain.view(-1)).view_as(index);
  }
};

TEST(TemperedMistakes, TheSignOfVIsSeen) {
  for (const double strength : {0.5, 3.0}) {
    const Path path(TinyTarget{2, 3, strength});
    const torch::Tensor index = path.draw(kMany);
    for (const int64_t step : {0, 1}) {
      const Round right(path, index, step, false), turned(path, index, step, true);
      EXPECT_LT(std::abs(path.deviation(right.on_rungs(index))), 5);
      EXPECT_GT(path.deviation(turned.on_rungs(index)), 20);
      // β, scales and energies go with the rungs.
      const torch::Tensor chain = right.at.chain.view(-1);
      const auto by_rung = [&](const torch::Tensor& t) {
        return t.view(-1).index_select(0, chain).view({kMany, 4});
      };
      EXPECT_TRUE(torch::equal(by_rung(right.at.beta), right.rungs.beta.expand({kMany, 4})));
      EXPECT_TRUE(
          torch::equal(by_rung(right.at.scale), right.rungs.scale.view(-1).expand({kMany, 4})));
      const torch::Tensor mixed = torch::lerp(right.at.start, right.at.target, right.at.beta);
      EXPECT_LT((mixed - right.at.energy).abs().max().item<double>(), 1e-12);
      EXPECT_FALSE(torch::equal(chain, torch::arange(4 * kMany)));
    }
  }
}

}  // namespace
}  // namespace isinglass::tempering_exactness_test
