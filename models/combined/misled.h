// Targets whose gradient misleads: the energy of one law, the gradient of another ("Follow
// Hamiltonian Leader", sections 5.1.2, 5.1.3 and A.2). Continuous states. They know which states
// are right, and where the paper's chains start: at a point, with normal noise.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "models/combined/other_gradient.h"

namespace isinglass {

// Modes of a target, and others that its gradient has. A state is right where the nearest of all is
// a right one, and not farther than the radius.
struct Modes {
  torch::Tensor centers = {};  // float64 [C, D]; undefined: none are known
  torch::Tensor right = {};    // bool [C]
  double radius = std::numeric_limits<double>::infinity();

  torch::Tensor at_right(const torch::Tensor& x) const;  // float64 [B]: 1 or 0
};

struct Start {
  torch::Tensor mean;  // [D]
  double deviation;
};

class MisledModel : public OtherGradientModel {
 public:
  MisledModel(std::shared_ptr<EnergyModel> energy, std::shared_ptr<EnergyModel> gradient,
              Modes modes, Start start);

  const Modes& modes() const { return modes_; }
  const Start& start() const { return start_; }

 private:
  Modes modes_;
  Start start_;
};

using MisledPointer = std::shared_ptr<MisledModel>;

// §5.1.3: the energy of two normal modes, (±2, 0), the gradient of four; from N(0, 4 I).
MisledPointer misled_mixture();

// §5.1.2: N((1, 1), I), with the gradient of N((1, 1), I / slope), which is nearly none; from
// N(0, 4 I). Right are states within 2.5 of the mode, 96 % of the law.
MisledPointer misled_flat(double slope);

// A.2: modes N(μ, variance I) of equal weight, of which the energy refuses those that are not
// right: it is `refusal` higher at a distance of more than `radius` from every right one. (The
// paper's refusal is infinite; chains could then start nowhere else.) The gradient is that of all
// modes.
struct RefusedModes {
  torch::Tensor centers;  // [C, D]
  torch::Tensor right;    // bool [C]
  double variance, radius, refusal;
};
MisledPointer misled_modes(const RefusedModes& modes, Start start);

// A.2.1: eight modes on the unit circle, every other one right; from N(0, I).
MisledPointer misled_rings(double variance, double radius, double refusal);

}  // namespace isinglass
