// Targets whose gradient misleads the sampler ("Follow Hamiltonian Leader", sections 5.1.2, 5.1.3
// and A.2): U(x) is the energy of one distribution, and the gradient is that of another. States are
// continuous, [B, D]. Each target also provides the modes that count as right ones, and the
// distribution from which the paper's chains start: a normal distribution around a point.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "models/combined/gradient_override.h"

namespace isinglass {

// Holds the modes of a target together with the false modes of its gradient. A state counts as
// right if the nearest mode is a right one and at most `radius` away.
struct Modes {
  torch::Tensor centers = {};  // float64 [C, D]; undefined if no modes are known
  torch::Tensor right = {};    // bool [C]: the modes of the energy
  double radius = std::numeric_limits<double>::infinity();

  torch::Tensor at_right(const torch::Tensor& x) const;  // float64 [B]: 1 or 0
};

struct Start {
  torch::Tensor mean;  // [D]
  double deviation;
};

class WrongGradientModel : public GradientOverrideModel {
 public:
  WrongGradientModel(std::shared_ptr<EnergyModel> energy, std::shared_ptr<EnergyModel> gradient,
                     Modes modes, Start start);

  const Modes& modes() const { return modes_; }
  const Start& start() const { return start_; }

 private:
  Modes modes_;
  Start start_;
};

using WrongGradientPointer = std::shared_ptr<WrongGradientModel>;

// §5.1.3: the energy has two normal modes, (±2, 0), and the gradient belongs to a mixture of four.
// Chains start from N(0, 4 I). States more than 4 from every mode count as wrong, so that chains
// that diverge do; 0.03 % of the probability of a mode lies there.
WrongGradientPointer wrong_gradient_mixture();

// §5.1.2: N((1, 1), I) with the gradient of N((1, 1), I / slope), which is almost zero for a small
// slope. Chains start from N(0, 4 I). States within 2.5 of the mode count as right; they have 96 %
// of the probability.
WrongGradientPointer wrong_gradient_flat(double slope);

// §A.2: modes N(μ, variance I) of equal weight. The energy excludes the modes that are not right:
// it is `refusal` higher wherever the distance to every right mode exceeds `radius`. (The paper's
// penalty is infinite; chains could then not start anywhere else.) The gradient is that of the
// mixture of all modes.
struct RefusedModes {
  torch::Tensor centers;  // [C, D]
  torch::Tensor right;    // bool [C]
  double variance, radius, refusal;
};
WrongGradientPointer wrong_gradient_modes(const RefusedModes& modes, Start start);

// §A.2.1: eight modes on the unit circle, every other one right. Chains start from N(0, I).
WrongGradientPointer wrong_gradient_rings(double variance, double radius, double refusal);

}  // namespace isinglass
