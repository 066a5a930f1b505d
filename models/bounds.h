// Continuous sites that are kept in an interval [a, b].
//
// A target within bounds is π(x) ∝ exp(−U(x)) on the box [a, b]^D and 0 outside. A trajectory that
// leaves the box comes back by reflection: x_i is folded into [a, b], and the momentum p_i changes
// its sign once for every wall that was met. On the line, folding is the map x ↦ x̃ whose period is
// 2 (b − a), and U(x̃) is a potential on the line that is even about every wall. A drift with
// reflection is therefore the ordinary drift in that potential, seen in the box. It preserves
// volume and is reversible, so that the Metropolis test of a Hamiltonian sampler is the usual one
// and remains exact (Neal, "MCMC using Hamiltonian dynamics", 2011, section 5.1). Clamping, as
// published trainers of energy networks do, is neither.
#pragma once

#include <optional>
#include <string>

#include "io/torch.h"
#include "models/energy_model.h"

namespace isinglass {

struct Bounds {
  double low = 0, high = 1;  // a < b

  bool operator==(const Bounds&) const = default;
};

// Implemented by models whose states may have bounds, and by models that wrap such models.
class HasBounds {
 public:
  virtual ~HasBounds() = default;
  virtual std::optional<Bounds> bounds() const = 0;
};

// Returns the bounds of the model's continuous states; nothing means the real line.
std::optional<Bounds> bounds_of(const EnergyModel& model);

// Throws Error, which names `what`, unless the states x, float32 [B, D], are within the bounds.
void require_within(const Bounds& bounds, const torch::Tensor& x, const std::string& what);

// Throws OptionError, which names the option, unless both bounds are finite, and a < b as float32.
void check_bounds(const Bounds& bounds, const std::string& option);

// Folds the states y, float32 [B, D], into the bounds in place, and reflects their momenta p,
// floating [B, D] or undefined, in place.
void reflect(const Bounds& bounds, torch::Tensor& y, torch::Tensor& p);

// Replaces standard normal numbers z, float32, by uniform ones of the interval, a + (b − a) Φ(z),
// in place.
void make_uniform(const Bounds& bounds, torch::Tensor& z);

}  // namespace isinglass
