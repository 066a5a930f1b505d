// Annealing both ways, and what its result has to be.
#pragma once

#include <gtest/gtest.h>

#include "engine/annealing/ais.h"
#include "engine/registry.h"

namespace isinglass {

inline AisResult anneal(EnergyModel& model, const SamplerOptions& sampler_options,
                        const std::string& name, const Factorised& start, AisOptions options) {
  const auto sampler = make_sampler(name, sampler_options, model);
  return AnnealedImportanceSampling(model, *sampler, start, options, torch::kCPU).run();
}

// forward − 4 se ≤ truth ≤ reverse + 4 se; both ways within 4 se.
inline void expect_held(const AisResult& result, double exact) {
  ASSERT_TRUE(result.finished);
  ASSERT_TRUE(result.reverse.has_value());
  const ReverseResult& reverse = *result.reverse;
  EXPECT_GT(result.weight_ess, 10);
  EXPECT_GT(reverse.weight_ess, 10);
  EXPECT_LE(result.log_z - 4 * result.log_z_se, exact);
  EXPECT_GE(reverse.log_z_upper + 4 * reverse.log_z_upper_se, exact);
  EXPECT_GT(reverse.log_z_bidirectional_se, 0);
  EXPECT_LT(reverse.log_z_bidirectional_se, 0.2);
  EXPECT_NEAR(reverse.log_z_bidirectional, exact, 4 * reverse.log_z_bidirectional_se);
  EXPECT_TRUE(verdict_on(result.diagnostics()).closed) << verdict_on(result.diagnostics()).reason;
}

inline void expect_same(const AisResult& a, const AisResult& b) {
  EXPECT_EQ(a.log_z, b.log_z);
  EXPECT_EQ(a.log_z_se, b.log_z_se);
  EXPECT_EQ(a.acceptance, b.acceptance);
  EXPECT_EQ(a.energy_evaluations, b.energy_evaluations);
  EXPECT_TRUE(torch::equal(a.x, b.x));
  EXPECT_TRUE(torch::equal(a.reverse->x, b.reverse->x));
  EXPECT_TRUE(torch::equal(a.reverse->log_weights, b.reverse->log_weights));
  EXPECT_EQ(a.reverse->log_z_upper, b.reverse->log_z_upper);
  EXPECT_EQ(a.reverse->log_z_bidirectional, b.reverse->log_z_bidirectional);
  EXPECT_EQ(a.reverse->rhat, b.reverse->rhat);
  EXPECT_EQ(a.reverse->equilibrium_steps, b.reverse->equilibrium_steps);
}

}  // namespace isinglass
