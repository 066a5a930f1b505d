// Sites that keep a given value while the others are sampled: x = (x_A, x_B) with x_B fixed.
//
// A conditional model (conditional.h) has the states x_A alone. This class says which sites they
// are, and converts between them and whole states. The values, and even the fixed sites, may differ
// from chain to chain. Where a chain has fewer free sites than another one, its states have spare
// entries at their end. No site of x belongs to these, and they change nothing but their own
// values.
#pragma once

#include <string>

#include "kernels/ops/scratch.h"
#include "models/energy_model.h"

namespace isinglass {

class FixedSites {
 public:
  // given: [D], for all chains, or [N, D], whose rows hold for chains in turn (chain_rows.h). An
  // entry is the value that the site keeps, or −1 (NaN in floating-point tensors) at a site that is
  // sampled. `what` names the tensor in messages. Throws Error if a value is not one of the space,
  // if no row has a free site, and for permutations. The tensors are on `device`.
  FixedSites(const StateSpace& whole, const torch::Tensor& given, const std::string& what,
             torch::Device device);

  const StateSpace& whole() const { return whole_; }
  StateSpace space() const;                                // that of the states x_A
  int64_t rows() const { return values_.size(0); }         // N, or 1 for all chains
  const torch::Tensor& values() const { return values_; }  // [N, D], 0 at free sites
  const torch::Tensor& sites() const { return sites_; }    // int64 [N, A]: the sites of x_A
  torch::Tensor free() const;                              // bool [N, D]: true at the sites of x_A
  bool fixes_nothing() const { return !spare_.defined() && space() == whole_; }
  // Returns true if all chains have the same free sites. Where they do not, spare() says which
  // entries of x_A are spare, bool [N, A].
  bool same_sites() const { return same_sites_; }
  const torch::Tensor& spare() const { return spare_; }  // undefined: none
  // Returns log K for every spare entry of each chain, float64 [B], which conditional models add to
  // the energy, so that the sum of exp(−U) is that over x_A alone. Undefined: none.
  torch::Tensor spare_energy(int64_t chains) const;
  // Returns the rows first … first + count − 1 of `chains` chains.
  FixedSites of_chains(int64_t chains, int64_t first, int64_t count) const;

  // Return x of the states x_A [B, A], where B is a multiple of N: the states [B, D], in new or in
  // scratch memory; the relaxed form of a relaxed x_A, differentiable.
  torch::Tensor complete(const torch::Tensor& free) const;
  torch::Tensor complete(const torch::Tensor& free, ops::Scratch& scratch) const;
  torch::Tensor complete_relaxed(const torch::Tensor& free) const;
  // Returns the entries of x_A of a tensor [B, D] or [B, D, K]; entries that are spare are 0.
  void restrict(const torch::Tensor& whole, torch::Tensor& out) const;
  torch::Tensor restrict(const torch::Tensor& whole) const;
  // Writes the entries of x_A of discrete states [B, D] into x_A [B, A], except for spare ones.
  void update(const torch::Tensor& whole, torch::Tensor& free) const;
  // Returns, in scratch memory, the sites of x, int64 [B], that these entries of x_A belong to.
  torch::Tensor sites_of(const torch::Tensor& entry, ops::Scratch& scratch) const;
  // Returns true at those of them that are spare, bool [B]; undefined if none can be.
  torch::Tensor spare_at(const torch::Tensor& entry) const;

 private:
  FixedSites() = default;
  torch::Tensor completed_in(torch::Tensor out, const torch::Tensor& free) const;

  StateSpace whole_;
  torch::Tensor values_, sites_, spare_;
  torch::Tensor spare_energy_;  // float64 [N]
  torch::Tensor kept_;          // the values at sites_, [N, A]: what spare entries leave as it is
  bool same_sites_ = true;
};

}  // namespace isinglass
