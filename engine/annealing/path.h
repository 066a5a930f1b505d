// The paths that annealing takes from a distribution with exact draws (β = 0) to the model (β = 1).
//
//   linear  U_β = (1 − β) U_0 + β U    any model (tempered_model.h)
//   joint   of an RBM: at every β an RBM of weights βW and biases βb_h, βb_v + (1 − β)·logit m, so
//           that block Gibbs sweeps serve all the way (models/network/annealed_rbm.h)
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

  virtual EnergyModel& model() = 0;  // at the present β
  // log Z and exact draws (uint8 [N, D], by seed and chain id) at β = 0.
  virtual double log_z_start() const = 0;
  virtual torch::Tensor sample(const torch::Tensor& chain_ids, uint64_t seed) const = 0;

  // Lets the model's sweeps go through their sites in the reverse order, the time reversal of a
  // sweep, or again in their own. The default does nothing, for sweeps that are their own reversal:
  // those of an RBM, hidden units and then sites.
  virtual void turn_back(bool back) {}

  // β, and the evaluation of states at it.
  virtual void set_beta(double beta, const torch::Tensor& x, Evaluation& current) = 0;
  // The same from the present β, and U_before(x) − U_after(x), float64 [B], valid until the next
  // call.
  virtual const torch::Tensor& advance(double beta, const torch::Tensor& x,
                                       Evaluation& current) = 0;
};

// The joint path is of RBMs alone: throws Error, naming `path`, for any other model.
RbmModel& rbm_of_joint_path(EnergyModel& model);

// Model and start outlive the path. Throws Error as rbm_of_joint_path does, for the joint one.
std::unique_ptr<AnnealingPath> make_path(PathKind kind, EnergyModel& model, const Factorised& start,
                                         torch::Device device);

}  // namespace isinglass
