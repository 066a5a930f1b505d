// Gibbs sampling, gibbs (docs/concepts/samplers.md): a random site, or the sites in turn; its value
// from the exact conditional π(x_i | rest). Always accepted. A model that has cheap conditionals
// supplies them; for the others the K − 1 neighbours are evaluated in one batch. The chromatic scan
// draws all sites in one step, those at once that do not depend on each other: on a lattice the
// sites of one colour, of an RBM the hidden units and then the sites. Steps of one site of a
// lattice are many a call, and on a GPU sweeps as well.
#pragma once

#include <optional>

#include "engine/sampler.h"

namespace isinglass {

class GibbsSampler : public Sampler {
 public:
  // last, of a scan in turn: step t draws at the site of step last − t.
  explicit GibbsSampler(Scan scan, std::optional<int64_t> last = {}) : scan_(scan), last_(last) {}

  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override;
  StepInfo steps(EnergyModel& model, ChainState& state, StepParams& params,
                 int64_t n) const override;
  int64_t steps_at_once(const ChainState& state) const override;
  Needs needs() const override { return Needs::kEnergy; }
  bool proposes() const override { return false; }
  bool captures(const EnergyModel& model) const override;
  // Reverses a scan in turn. The order of a chromatic scan is the model's
  // (AnnealingPath::turn_back).
  std::unique_ptr<Sampler> reversed(int64_t last) const override;
  // Whether a step draws every site from its conditional: of independent sites an exact draw.
  bool draws_all_sites() const { return scan_ == Scan::kChromatic; }

 protected:
  void prepare(const EnergyModel& model, ChainState& state) const override;

 private:
  void choose_sites(ChainState& state, const StepParams& params) const;

  Scan scan_;
  std::optional<int64_t> last_;
};

// The chains that moved (choice ≥ 0, int64 [B]) take over the cache of the candidate they moved to:
// of_candidates [B·n, …], n a chain.
void take_cache(const torch::Tensor& choice, const std::vector<torch::Tensor>& of_candidates,
                std::vector<torch::Tensor>& cache);

}  // namespace isinglass
