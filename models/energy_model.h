// The contract of a target distribution: a LibTorch module that maps states to energies U(x),
// π(x) ∝ exp(−U(x)).
//
// A state is uint8 [B, D] for discrete sites, float32 [B, D] for continuous ones, int64 [B, D] for
// permutations. Its *relaxed* form is what gradients are taken in: float32 [B, D] for binary and
// continuous states, one-hot [B, D, K] for categorical ones. The score of the samplers' papers is
// s = −∇U.
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
  int64_t categories = 2;  // of discrete kinds

  // Gradients are [B, D, K] for categorical states and [B, D] otherwise.
  bool one_hot() const { return kind == StateKind::kCategorical; }
  bool discrete() const { return kind != StateKind::kContinuous; }
  torch::ScalarType dtype() const {  // of a state
    if (kind == StateKind::kPermutation) return torch::kInt64;
    return discrete() ? torch::kUInt8 : torch::kFloat32;
  }
  // States one move away: one site at another value, or (permutations) one pair swapped.
  int64_t neighbours() const {
    return kind == StateKind::kPermutation ? sites * (sites - 1) / 2 : sites * (categories - 1);
  }
  bool operator==(const StateSpace&) const = default;
};

// Of the gradients that proposals use; energies, and with them acceptance, are float32 or better.
enum class GradientPrecision { kFloat32, kBfloat16 };

// A model call at a batch of states. The cache is what a model wants to keep with the states
// (hidden inputs, the parts of an annealed energy): each tensor has the chain as its first
// dimension, and the accept step selects energy, gradient and cache together.
struct Evaluation {
  torch::Tensor energy;    // float64 [B], by which states are accepted
  torch::Tensor target;    // float64 [B]: U, where energy is that of another temperature
  torch::Tensor gradient;  // float32, of U in the relaxed state; undefined when not asked for
  // float32 [B, D] (binary) or [B, D, K]: U(x) − U(x with x_i←k), 0 at the current value; of a
  // permutation [B, D(D−1)/2], of its swaps (0, 1), (0, 2), … (1, 2), …. Undefined when not asked
  // for.
  torch::Tensor differences;
  std::vector<torch::Tensor> cache;  // each [B, …]

  // U, at whatever temperature the chains are.
  const torch::Tensor& untempered() const { return target.defined() ? target : energy; }
};

struct EnergyGrad {
  torch::Tensor energy;    // float64 [B]
  torch::Tensor gradient;  // float32 [B, D] or [B, D, K]
};

// Floating-point operations of the convolutions and matrix products for one state. 0: there are
// none, and memory sets the pace.
struct FlopCounts {
  double energy = 0;              // U
  double state_gradient = 0;      // U and its gradient in the state
  double parameter_gradient = 0;  // U and its gradient in the parameters

  // Of a network: its first layer's and the other layers' in one forward pass. A backward pass
  // costs as much again for the gradient in a layer's input, and for that in its weights.
  static FlopCounts of_network(double first_layer, double other_layers);
};

class HasConditionals;
class LatticeModel;

// Where local steps are taken (kernels/path/fast/lattice_path.h), and what they bring along: U and its
// gradient or differences, in the tensors of an evaluation; and the chains' β.
struct LocalSteps {
  LatticeModel* lattice = nullptr;  // null: nowhere
  torch::Tensor energy, table;
  torch::Tensor beta;  // float64 [B]; undefined: 1
};

class HasEnergyDifferences;
class HasSweeps;

class EnergyModel : public torch::nn::Module {
 public:
  virtual std::string kind_name() const = 0;                            // the name in the registry
  virtual std::string title() const { return "model " + kind_name(); }  // in messages
  virtual StateSpace space() const = 0;
  virtual bool differentiable() const { return true; }
  // The base distribution of independent sites that U contains: means float32 [D] of Bernoulli ones,
  // frequencies [D, K] of categorical ones; undefined: none.
  virtual torch::Tensor base_mean() const { return {}; }
  virtual FlopCounts flops() const { return {}; }
  // Whether evaluations can be captured in a CUDA graph (engine/run/step_graph.h): once their
  // buffers exist, the host waits for nothing. And whether a captured one still holds when
  // parameters have changed in place and an evaluation with gradient has followed: what is derived from
  // them is kept where it was.
  virtual bool capturable() const { return true; }
  virtual bool reads_parameters_in_place() const { return false; }
  // What evaluate() takes gradients in. Throws Error if the model knows no other than float32.
  virtual void set_gradient_precision(GradientPrecision precision);
  virtual bool knows_bfloat16() const { return false; }

  // U of states (uint8) or of relaxed states (floating), [B]; differentiable in the parameters and,
  // for relaxed input, twice in the state. Deep models return float32, closed forms float64.
  virtual torch::Tensor energy(const torch::Tensor& x) = 0;

  // One evaluation, detached. Writes into out's tensors where they are defined and fit (energy
  // always; the gradient may be replaced by the tensor that autograd made). The defaults call
  // energy().
  virtual void evaluate_energy(const torch::Tensor& x, Evaluation& out);
  virtual void evaluate(const torch::Tensor& x, Evaluation& out);

  // One evaluation at y of chains whose evaluation at x is known; with or without the gradient. A
  // model that keeps parts of it in the cache pays for what moved. The default evaluates at y.
  virtual void evaluate_moved(const torch::Tensor& x, const Evaluation& at_x,
                              const torch::Tensor& y, bool gradient, Evaluation& out);

  // U (Evaluation::target) at the states of an evaluation whose energy alone has been kept, by
  // steps on a lattice. The default has nothing to do: energy is U.
  virtual void settle(const torch::Tensor& x, Evaluation& current) {}

  // Of the present evaluation of chains; and, once steps have been taken, what follows from U: the
  // energy. The defaults are those of a lattice.
  virtual LocalSteps local_steps(Evaluation& current);
  virtual void follow_local_steps(Evaluation& current) {}

  // What can be had for less than model calls; null: nothing. The defaults find what the class
  // itself derives from; a model made of others asks them.
  virtual HasConditionals* conditionals();
  virtual HasSweeps* sweeps();
  virtual HasEnergyDifferences* exact_differences();
  virtual LatticeModel* as_lattice();
  const HasConditionals* conditionals() const { return mutable_this()->conditionals(); }
  const HasSweeps* sweeps() const { return mutable_this()->sweeps(); }
  const LatticeModel* as_lattice() const { return mutable_this()->as_lattice(); }
  LocalSteps local_steps(Evaluation& current) const { return mutable_this()->local_steps(current); }

  // evaluate() into fresh tensors.
  EnergyGrad energy_and_grad(const torch::Tensor& x);

  // The relaxed float32 form of states; floating input is passed through.
  torch::Tensor relaxed(const torch::Tensor& x) const;

 protected:
  // Copies into the buffer where it fits, else makes a new one.
  static void store(torch::Tensor& out, const torch::Tensor& value);

 private:
  EnergyModel* mutable_this() const { return const_cast<EnergyModel*>(this); }
};

// Models whose one-site conditionals cost less than model calls.
class HasConditionals {
 public:
  virtual ~HasConditionals() = default;
  // out[b, k] = U(x_b with site[b] ← k) − U(x_b), float64 [B, K]; x uint8 [B, D], site int64 [B].
  virtual void conditional_differences(const torch::Tensor& x, const torch::Tensor& site,
                                       torch::Tensor& out) = 0;
  // Brings an evaluation without tables along once the chains have moved to x. The default keeps
  // nothing beside the energy, of which whoever moved them knows the change.
  virtual void follow(const torch::Tensor& x, Evaluation& current) {}
};

// Models that draw all their sites from exact conditionals in one step: a Gibbs sweep.
class HasSweeps {
 public:
  virtual ~HasSweeps() = default;
  // `steps` sweeps of the chains x uint8 [B, D] and their evaluation without gradient, in place.
  // Returns the model calls a chain that they cost.
  virtual int64_t gibbs_sweeps(int64_t steps, const torch::Tensor& rng,
                               const torch::Tensor& chain_ids, torch::Tensor& x,
                               Evaluation& current, ops::StepBuffers& counts) = 0;
  // As EnergyModel::capturable().
  virtual bool sweeps_capturable() const { return true; }
};

// Models whose exact neighbour differences Δ cost less than a model call a neighbour.
class HasEnergyDifferences {
 public:
  virtual ~HasEnergyDifferences() = default;
  // One evaluation with out.differences in place of the gradient; buffers as in evaluate().
  virtual void evaluate_differences(const torch::Tensor& x, Evaluation& out) = 0;
  // The model calls a chain that one such evaluation costs.
  virtual int64_t difference_calls() const { return 1; }
};

// The same for any model: by HasEnergyDifferences, else the energies of all neighbours in batches
// of bounded size. Returns the number of model calls a chain: 1, or 1 + the number of neighbours.
// Throws Error for continuous states.
int64_t evaluate_differences(EnergyModel& model, const torch::Tensor& x, Evaluation& out);

// Throws Error unless x is a batch of states of the space: dtype, shape, values in range, every row
// of a permutation space a permutation.
void check_states(const StateSpace& space, const torch::Tensor& x, const std::string& what);

}  // namespace isinglass
