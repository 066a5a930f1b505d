// The paths of distributions along which annealing moves from one with exact draws (β = 0) to the
// model (β = 1).
//
//   linear  U_β = (1 − β) U_0 + β U, for any model (tempered_model.h)
//   joint   for an RBM only: at every β an RBM with weights βW, hidden biases βb_h and visible
//           biases βb_v + (1 − β)·logit m, so that block Gibbs sweeps work at every β
//           (models/network/annealed_rbm.h)
#pragma once

#include <memory>

#include "engine/annealing/factorised.h"
#include "models/energy_model.h"

namespace isinglass {

class RbmModel;

enum class PathKind { kLinear, kJoint };

class AnnealingPath {
 public:
  virtual ~AnnealingPath() = default;

  virtual EnergyModel& model() = 0;  // at the current β
  // log_z_start() returns log Z at β = 0; sample() returns exact draws there, uint8 [N, D], which
  // depend on the seed and the chain ids.
  virtual double log_z_start() const = 0;
  virtual torch::Tensor sample(const torch::Tensor& chain_ids, uint64_t seed) const = 0;

  // Makes the model's sweeps visit their sites in reverse order, which is the time reversal of a
  // sweep, or in their own order again. The default does nothing: it suits sweeps that are their
  // own reversal, such as those of an RBM, which draw hidden units and then sites.
  virtual void turn_back(bool back) {}

  // Sets β, and updates the evaluation of the states to it.
  virtual void set_beta(double beta, const torch::Tensor& x, Evaluation& current) = 0;
  // Moves from the current β to a new one, and updates the evaluation. Returns U_before(x) −
  // U_after(x), float64 [B], which is valid until the next call.
  virtual const torch::Tensor& advance(double beta, const torch::Tensor& x,
                                       Evaluation& current) = 0;
};

// Returns the model as an RBM. Throws Error, naming `path`, if it is none, since the joint path
// exists for RBMs only.
RbmModel& rbm_of_joint_path(EnergyModel& model);

// Model and start must outlive the path. Throws Error as rbm_of_joint_path() does for the joint
// path.
std::unique_ptr<AnnealingPath> make_path(PathKind kind, EnergyModel& model, const Factorised& start,
                                         torch::Device device);

}  // namespace isinglass
