// Adapts a step size to a target mean acceptance, in burn-in or between the iterations of a
// training (docs/concepts/adaptation.md; Sun, Dai & Dai 2022, "Optimal scaling for locally balanced
// proposals in discrete spaces").
//
//   log s += γ_t (ā − target),  γ_t = t^{−0.6},  ā the mean acceptance over chains; then clamped
//
// A proposal that equals the current state is accepted and carries no information. Therefore the
// scale does not grow in a step that moves no chain, and it counts as not settled where hardly any
// step moves a chain.
#pragma once

#include "engine/chain_state.h"

namespace isinglass {

struct Adaptation;
struct BurnIn;
struct Scale;

// Returns the acceptance from which a scale learns, float64 []: the mean over chains, of which a
// fraction `moved`, float64 [], changed their states; at most the target if none did.
torch::Tensor informative_acceptance(const torch::Tensor& acceptance, const torch::Tensor& moved,
                                     double target);

// Updates `value` (float64 [], in place, without a synchronisation) after step t (from 0) with that
// mean acceptance, float64 [].
void adapt_scale(torch::Tensor value, const Scale& range, const torch::Tensor& acceptance,
                 int64_t t, double target);

// Reports on the adaptation. It has settled if the mean acceptance is within 0.1 of the target, or
// if the value is at the end of its range that brings the acceptance nearest to the target.
Adaptation adapted_scale(double value, const Scale& range, const BurnIn& burn_in, double target);

// Withdraws the verdict "settled" if chains hardly move. `hops` is the mean number of sites changed
// per step, `acceptance` the mean acceptance, both over chains and the last quarter of burn-in.
// Below 0.01 sites per step the chains are frozen, and acceptance says nothing about the scale.
void doubt_frozen(Adaptation& adapted, double hops, double acceptance);

}  // namespace isinglass
