// The restrictions of a run to a part of the state space, which go together: sites with fixed
// values (fixed_sites.h), values that sites may take (allowed_values.h), and the distance from a
// reference state (within.h). Samplers move the states of a restricted model; users see whole
// states.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "models/conditional/allowed_values.h"
#include "models/conditional/distance_limit.h"
#include "models/conditional/fixed_sites.h"

namespace isinglass {

// Says what restricts the states. Undefined tensors restrict nothing.
struct RestrictionOptions {
  torch::Tensor fixed = {};            // [D] or [N, D] (fixed_sites.h)
  torch::Tensor allowed = {};          // [D, K] (allowed_values.h)
  torch::Tensor reference = {};        // states [D] or [N, D] (within.h)
  std::optional<int64_t> within = {};  // k, with a reference
  // Name the tensors in messages.
  std::string fixed_name = "the values of fixed sites", allowed_name = "the allowed values",
              reference_name = "the reference states";

  bool given() const {
    return fixed.defined() || allowed.defined() || reference.defined() || within.has_value();
  }
};

class Restriction {
 public:
  // Throws Error for what does not fit the space.
  Restriction(const StateSpace& whole, const RestrictionOptions& options, torch::Device device);

  const StateSpace& whole() const { return whole_; }
  // Returns the number of rows of the tensors that hold for chains in turn: 1, or N. Their numbers
  // have to agree or to be 1.
  int64_t rows() const;
  // Returns the restriction of the chains first … first + count − 1 of `chains`.
  Restriction of_chains(int64_t chains, int64_t first, int64_t count) const;
  // `lasting`: as for conditional_model().
  std::shared_ptr<EnergyModel> restrict_model(std::shared_ptr<EnergyModel> whole,
                                              bool lasting = false) const;

  torch::Tensor complete(const torch::Tensor& x) const;  // whole states [B, D]
  // Returns the restricted model's states of whole ones, whose fixed sites may have any values.
  // Throws Error, which names `what`, for a value that is not allowed.
  torch::Tensor restrict(const torch::Tensor& whole, const std::string& what) const;
  // Returns by how much the restricted model's energy exceeds the whole state's, float64 [B].
  // Undefined: 0.
  torch::Tensor extra_energy(const torch::Tensor& x) const;
  // Returns the reference states of chains, undefined if there are none: a state from which chains
  // can start.
  torch::Tensor reference(int64_t chains) const;
  // Returns the limit of changes as the states of the restricted model have it, with rows() rows.
  // Nothing if there is no limit.
  std::optional<DistanceLimit> distance_limit() const;
  std::string sha256() const;  // of all that restricts

 private:
  torch::Tensor changes_left() const;

  StateSpace whole_;
  std::optional<AllowedValues> allowed_;
  FixedSites fixed_;         // of the numbers of allowed values, if these are given
  torch::Tensor reference_;  // [N, D]
  int64_t within_ = 0;
};

}  // namespace isinglass
