// log Z of a model while it learns, by the work that each change of its parameters does on its
// persistent chains (Jarzynski 1997; Carbone, Hua, Coste & Vanden-Eijnden 2023, "Efficient training
// of energy-based models using Jarzynski equality", Algorithm 1).
//
// A chain that begins at a draw of a normalised distribution q has, when it is drawn from the
// buffer for the first time, under the parameters θ, the log weight
//
//   a = −U_θ(x) − log q(x)
//
// which steps that leave π_θ invariant do not change. A chain that was left under θ' and is drawn
// again under θ has then done the work w = U_θ(x) − U_θ'(x), and
//
//   a ← a − w
//
// At all times E exp(a) = Z_θ, and weighted by exp(a) the chains are draws of π_θ. So the n chains
// of an iteration estimate the log Z of the parameters before its update:
//
//   log Z ≈ log (1/n) Σ exp(a)
//
// If their effective sample size, (Σ exp(a))² / Σ exp(2a), is below n/2, they are resampled after
// their steps (engine/annealing/population.h), and all of them get the logarithm of their mean
// weight. The errors of all iterations add up in log Z; the effective sample size is that of the
// present weights only.
#pragma once

#include "io/pt/pt_file.h"
#include "io/torch.h"

namespace isinglass {

class ChainWeights {
 public:
  // slots: the number of persistent chains, each of which is a draw of q.
  ChainWeights(int64_t slots, torch::Device device);

  // Weighs the chains of these slots, int64 [n], as they are drawn: `work` is w, NaN for a chain
  // that is drawn for the first time; U and log q are taken at its state. All are float64 [n].
  void measure(const torch::Tensor& slots, const torch::Tensor& work, const torch::Tensor& energy,
               const torch::Tensor& log_q);

  // Returns, for each of the n chains that were weighed last, the one that continues in its place,
  // int64 [n], and keeps their weights; undefined if all go on. `rng` {seed, step} is int64 [2].
  torch::Tensor resample(const torch::Tensor& slots, const torch::Tensor& rng);

  // These keep their addresses: log Z and the effective sample size of the chains that were weighed
  // last, float64 [].
  const torch::Tensor& log_z() const { return log_z_; }
  const torch::Tensor& ess() const { return ess_; }

  // The log weights, float64 [slots], as the tensor itself.
  static constexpr const char* kName = "chain-weights";
  NamedTensors saved_state() const { return {{kName, log_weight_}}; }

 private:
  torch::Tensor log_weight_;  // of every slot; 0 for a chain that was never drawn
  torch::Tensor latest_;      // float64 [n]
  torch::Tensor log_z_, ess_;
};

}  // namespace isinglass
