// Adaptation of a step size to a mean acceptance, in burn-in only (docs/concepts/adaptation.md;
// Sun, Dai & Dai 2022, "Optimal scaling for locally balanced proposals in discrete spaces").
//
//   log s += γ_t (ā − target),  γ_t = t^{−0.6},  ā the mean acceptance over chains; then clamped
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

}  // namespace isinglass
