// One-site Gibbs sampling, gibbs (samplers.md §2.1): a random site, or the sites in turn; its value
// from the exact conditional π(x_i | rest). Always accepted. A model that has cheap conditionals
// supplies them; for the others the K − 1 neighbours are evaluated in one batch.
#pragma once

#include "engine/sampler.h"

namespace isinglass {

class GibbsSampler : public Sampler {
 public:
  explicit GibbsSampler(Scan scan) : scan_(scan) {}

  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override;
  Needs needs() const override { return Needs::kEnergy; }

 protected:
  void prepare(const EnergyModel& model, ChainState& state) const override;

 private:
  Scan scan_;
};

std::vector<SamplerEntry> gibbs_samplers();

}  // namespace isinglass
