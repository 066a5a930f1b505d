// Adaptation of a step size to a mean acceptance, in burn-in only (docs/concepts/adaptation.md;
// Sun, Dai & Dai 2022, "Optimal scaling for locally balanced proposals in discrete spaces").
//
//   log s += γ_t (ā − target),  γ_t = t^{−0.6},  ā the mean acceptance over chains; then clamped
//
// A proposal that is the state itself is accepted and says nothing: in a step that moves no chain
// the scale does not grow, and where hardly a step moves one it has not settled.
#pragma once

#include "engine/chain_state.h"

namespace isinglass {

struct Adaptation;
struct BurnIn;
struct Scale;

// Changes `value` (float64 [], in place, without a synchronisation) after burn-in step t (from 0)
// with that mean acceptance, float64 [].
void adapt_scale(torch::Tensor value, const Scale& range, const torch::Tensor& acceptance,
                 int64_t t, double target);

// How far it has come: settled if the mean acceptance is within 0.1 of the target, or the value at
// that end of its range which is nearest to it.
Adaptation adapted_scale(double value, const Scale& range, const BurnIn& burn_in, double target);

// With so many hops a step, a mean over chains and the end of burn-in: a scale that acceptance
// settled among chains that stand still has not.
void doubt_frozen(Adaptation& adapted, double hops, double acceptance);

}  // namespace isinglass
