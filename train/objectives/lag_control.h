// A learning rate that persistent chains can follow (`lr-control` lag).
//
// A chain x that was left under the parameters θ' and is drawn again under θ was not a draw of the
// present model, but of an earlier one. Its work since then,
//
//   w = U_θ(x) − U_θ'(x),
//
// makes it a weighted draw, of weight exp(−w) (Jarzynski 1997; Carbone, Hua, Coste &
// Vanden-Eijnden 2023, "Efficient training of energy-based models using Jarzynski equality"). Both
// energies are at hand. The effective sample size of the weights of an iteration's n chains, as a
// share of n, says how far the model has run ahead of its chains:
//
//   share = (Σ exp(−w))² / (n Σ exp(−2w))
//
// The learning rate is multiplied by a factor, at most 1, that grows by 1 % in an iteration whose
// share is above .9 and shrinks by 5 % in one whose share is below .7. An iteration whose share is
// below .5 moves its chains and makes no update.
#pragma once

#include <limits>

#include "io/pt/pt_file.h"
#include "io/torch.h"

namespace isinglass {

class LagControl {
 public:
  // slots: the number of persistent chains, none of which has an energy yet.
  LagControl(int64_t slots, torch::Device device);

  // Computes the share from the energies at which chains of these slots are drawn, float64 [n].
  // Chains that were not left in their slot with an energy do not count; the share is 1 if fewer
  // than two count. slots: int64 [n].
  void measure(const torch::Tensor& slots, const torch::Tensor& energy);
  // Keeps the energies with which the chains are left in their slots.
  void keep(const torch::Tensor& slots, const torch::Tensor& energy);
  // Forgets the energies of chains that were replaced; all, if the model was.
  void forget() { energy_.fill_(std::numeric_limits<double>::quiet_NaN()); }
  // Changes the factor after an iteration with this share.
  void follow(double share);

  // These keep their addresses: the share of the latest iteration, float64 [], and 1 if it makes no
  // update, else 0, float32 [].
  const torch::Tensor& share() const { return share_; }
  const torch::Tensor& pause() const { return pause_; }
  double factor() const { return factor_.item<double>(); }

  // The energies, float64 [slots], and the factor, float64 [], as the tensors themselves.
  NamedTensors saved_state() const;

 private:
  torch::Tensor energy_;  // of every slot; NaN: none
  torch::Tensor share_, pause_;
  torch::Tensor factor_;  // on the CPU
};

}  // namespace isinglass
