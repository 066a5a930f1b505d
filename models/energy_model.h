// Defines the interface of a target distribution: a LibTorch module that maps states x to energies
// U(x), with π(x) ∝ exp(−U(x)).
//
// A state is uint8 [B, D] for discrete sites, float32 [B, D] for continuous ones, int64 [B, D] for
// permutations. Gradients are taken in the *relaxed* form of a state: float32 [B, D] for binary,
// ordered and continuous states, one-hot [B, D, K] for categorical ones. The score in the samplers'
// papers is s = −∇U.
#pragma once

#include <string>
#include <vector>

#include "io/torch.h"
#include "kernels/ops/metropolis.h"

namespace isinglass {

enum class StateKind { kBinary, kCategorical, kOrdered, kContinuous, kPermutation };

struct StateSpace {
  StateKind kind = StateKind::kBinary;
  int64_t sites = 0;
  int64_t categories = 2;  // K, for discrete kinds

  // Returns true if the relaxed form is one-hot: gradients are then [B, D, K], otherwise [B, D].
  bool one_hot() const { return kind == StateKind::kCategorical; }
  bool discrete() const { return kind != StateKind::kContinuous; }
  // Returns the type of a state's values.
  torch::ScalarType dtype() const {
    if (kind == StateKind::kPermutation) return torch::kInt64;
    return discrete() ? torch::kUInt8 : torch::kFloat32;
  }
  // Returns the number of states one move away: one site set to another value or, for permutations,
  // one pair of entries swapped.
  int64_t neighbours() const {
    return kind == StateKind::kPermutation ? sites * (sites - 1) / 2 : sites * (categories - 1);
  }
  bool operator==(const StateSpace&) const = default;
};

// Precision of the gradients that proposals use. Energies, and with them the acceptance test, are
// always float32 or better.
enum class GradientPrecision { kFloat32, kBfloat16 };

// Holds the results of a model call at a batch of states. The cache contains whatever else a model
// keeps per state (hidden inputs, the terms of an annealed energy). The first dimension of each of
// its tensors is the chain, so that the accept step selects energy, gradient and cache together.
struct Evaluation {
  torch::Tensor energy;    // float64 [B], the energy that acceptance uses
  torch::Tensor target;    // float64 [B]: U, defined if `energy` is tempered (β ≠ 1)
  torch::Tensor gradient;  // float32, of U in the relaxed state; undefined unless requested
  // Differences of energies to all neighbours, float32; undefined unless requested. [B, D] (binary)
  // or [B, D, K]: U(x) − U(x with x_i←k), which is 0 at the current value. Permutations have
  // [B, D(D−1)/2], one entry a swap, in the order (0, 1), (0, 2), …, (1, 2), ….
  torch::Tensor differences;
  std::vector<torch::Tensor> cache;  // each [B, …]

  // Returns the energy U at β = 1, whatever the temperatures of the chains are.
  const torch::Tensor& untempered() const { return target.defined() ? target : energy; }
};

struct EnergyGrad {
  torch::Tensor energy;    // float64 [B]
  torch::Tensor gradient;  // float32 [B, D] or [B, D, K]
};

// Counts the floating-point operations of the convolutions and matrix products for one state. 0
// means that the model has none, and that memory bandwidth limits its speed.
struct FlopCounts {
  double energy = 0;              // U
  double state_gradient = 0;      // U and its gradient in the state
  double parameter_gradient = 0;  // U and its gradient in the parameters

  // Returns the counts for a network, given the operations of one forward pass through its first
  // layer and through the other layers. A backward pass costs as much again for the gradient in
  // each layer's input, and as much again for the gradient in its weights.
  static FlopCounts of_network(double first_layer, double other_layers);
};

class HasConditionals;
class HasEnergyDifferences;
class HasLocalSteps;
class HasSweeps;
class LatticeModel;

class EnergyModel : public torch::nn::Module {
 public:
  virtual std::string kind_name() const = 0;                            // the name in the registry
  virtual std::string title() const { return "model " + kind_name(); }  // the name in messages
  virtual StateSpace space() const = 0;
  virtual bool differentiable() const { return true; }
  // Returns the base distribution of independent sites that U contains: the means of Bernoulli
  // sites, float32 [D], or the frequencies of categorical ones, [D, K]. Undefined if U contains
  // none.
  virtual torch::Tensor base_mean() const { return {}; }
  virtual FlopCounts flops() const { return {}; }
  // Returns true if evaluations can be captured in a CUDA graph (engine/run/step_graph.h), that is,
  // if the host never waits for the device once the buffers exist.
  virtual bool capturable() const { return true; }
  // Returns true if a captured evaluation stays valid after the parameters have changed in place,
  // once an evaluation with gradient has been made. For this, whatever is computed from the
  // parameters has to stay at the same addresses.
  virtual bool reads_parameters_in_place() const { return false; }
  // Sets the precision of the gradients that evaluate() computes. Throws Error if the model
  // supports float32 only and another one is requested.
  virtual void set_gradient_precision(GradientPrecision precision);
  virtual bool supports_bfloat16() const { return false; }

  // Returns U, [B], of states (uint8 or int64) or of relaxed states (floating). It is
  // differentiable in the parameters and, for relaxed input, twice in the state. Deep models return
  // float32, closed forms float64.
  virtual torch::Tensor energy(const torch::Tensor& x) = 0;

  // Evaluate a batch once, detached from autograd. They write into the tensors of `out` where these
  // are defined and fit (always for the energy; the gradient may be replaced by the tensor that
  // autograd made). The defaults call energy().
  virtual void evaluate_energy(const torch::Tensor& x, Evaluation& out);
  virtual void evaluate(const torch::Tensor& x, Evaluation& out);

  // Evaluates chains that have moved from x, where their evaluation at_x is known, to y, with or
  // without the gradient. A model that keeps intermediate results in the cache only pays for the
  // sites that changed. The default evaluates at y from scratch.
  virtual void evaluate_moved(const torch::Tensor& x, const Evaluation& at_x,
                              const torch::Tensor& y, bool gradient, Evaluation& out);

  // Computes U (Evaluation::target) from `energy`, after fused steps on a lattice have updated the
  // energy alone. The default does nothing, because its energy is U.
  virtual void flush_energy(const torch::Tensor& x, Evaluation& current) {}

  // Return the interface through which the model offers results that cost less than model calls;
  // null if it offers none. The defaults check which interfaces the model's own class implements;
  // models that wrap other models ask those.
  virtual HasConditionals* conditionals();
  virtual HasSweeps* sweeps();
  virtual HasEnergyDifferences* exact_differences();
  virtual HasLocalSteps* local_steps();
  virtual LatticeModel* as_lattice();
  const HasConditionals* conditionals() const { return mutable_this()->conditionals(); }
  const HasSweeps* sweeps() const { return mutable_this()->sweeps(); }
  const LatticeModel* as_lattice() const { return mutable_this()->as_lattice(); }

  // Calls evaluate() with new tensors.
  EnergyGrad energy_and_grad(const torch::Tensor& x);

  // Returns the relaxed form of states, float32; floating input is returned as it is.
  torch::Tensor relaxed(const torch::Tensor& x) const;

 protected:
  // Copies the value into `out` if the shapes agree; otherwise allocates a new tensor.
  static void store(torch::Tensor& out, const torch::Tensor& value);

 private:
  EnergyModel* mutable_this() const { return const_cast<EnergyModel*>(this); }
};

// Implemented by models whose one-site conditionals cost less than K model calls.
class HasConditionals {
 public:
  virtual ~HasConditionals() = default;
  // Writes out[b, k] = U(x_b with site[b] ← k) − U(x_b), float64 [B, K]; x uint8 [B, D], site
  // int64 [B].
  virtual void conditional_differences(const torch::Tensor& x, const torch::Tensor& site,
                                       torch::Tensor& out) = 0;
  // Updates the cache of `current` after the chains have moved to x by the values drawn from
  // conditional_differences(). The caller has already added the change to the energy, so that the
  // default, which caches nothing else, does nothing. Evaluations with gradients or tables of
  // differences are not supported.
  virtual void update_after_move(const torch::Tensor& x, Evaluation& current) {}
};

// Implemented by models that can draw all their sites from exact conditionals in one step (a Gibbs
// sweep).
class HasSweeps {
 public:
  virtual ~HasSweeps() = default;
  // Makes `steps` sweeps of the chains x uint8 [B, D] and of their evaluation without gradient, in
  // place. Returns the cost in model calls per chain.
  virtual int64_t gibbs_sweeps(int64_t steps, const torch::Tensor& rng,
                               const torch::Tensor& chain_ids, torch::Tensor& x,
                               Evaluation& current, ops::StepBuffers& counts) = 0;
  // Returns true if sweeps can be captured in a CUDA graph, in the sense of
  // EnergyModel::capturable().
  virtual bool sweeps_capturable() const { return true; }
};

// Describes the tensors that fused steps on a lattice (kernels/path/fast/lattice_path.h) update in
// place: U and its gradient or differences, which belong to an evaluation, and the chains' inverse
// temperatures.
struct LocalTensors {
  torch::Tensor energy, table;
  torch::Tensor beta;  // float64 [B]; undefined means 1
};

// Implemented by models on a lattice, where fused steps are possible, and by such models at
// temperatures of the chains' own.
class HasLocalSteps {
 public:
  virtual ~HasLocalSteps() = default;
  // Returns the lattice of U.
  virtual LatticeModel& local_lattice() = 0;
  // Returns the tensors of the chains' present evaluation that the steps work on. After the steps,
  // finish_local_steps() recomputes `energy` from the updated U.
  virtual LocalTensors local_tensors(Evaluation& current) = 0;
  virtual void finish_local_steps(Evaluation& current) {}
};

// Implemented by models whose exact differences Δ to all neighbours cost less than one model call a
// neighbour.
class HasEnergyDifferences {
 public:
  virtual ~HasEnergyDifferences() = default;
  // Evaluates the states with out.differences in place of the gradient; buffers are used as in
  // evaluate().
  virtual void evaluate_differences(const torch::Tensor& x, Evaluation& out) = 0;
  // Returns the cost of one such evaluation in model calls per chain.
  virtual int64_t difference_calls() const { return 1; }
};

// Does the same for any model: by HasEnergyDifferences if the model implements it, otherwise by
// evaluating all neighbours in batches of bounded size. Returns the number of model calls per
// chain: 1 (or difference_calls()), or 1 + the number of neighbours. Throws Error for continuous
// states.
int64_t evaluate_differences(EnergyModel& model, const torch::Tensor& x, Evaluation& out);

// Throws Error unless x is a batch of states of the space: dtype, shape and range of the values
// have to be right, and every row of a permutation space has to be a permutation. `what` names the
// batch in messages.
void check_states(const StateSpace& space, const torch::Tensor& x, const std::string& what);

}  // namespace isinglass
